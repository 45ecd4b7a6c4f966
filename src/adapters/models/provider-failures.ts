// What a provider's refusal means: any error of a model call becomes one failure of the closed table.
// Says what to do next in one sentence. Never carries a key, a header, a request or a stack; a provider's own words are
// quoted only for errors of the request, cut and with the key taken out.
import { APICallError, LoadAPIKeyError } from '@ai-sdk/provider';
import type { ErrorClass, Failure } from '../../core/failure';
import { ModelError } from '../../ports/model';
import { redactText, withoutCredentials } from '../../ports/redaction';

/** Whom a call spoke to, for the sentence that names the fix. */
export interface Provider {
  /** `provider:model`. */
  id: string;
  /** Variable that holds the key. */
  keyVariable: string;
  /** The key itself, only to be taken out of messages. */
  key: string;
}

/** Longest pause that a provider may ask for, in ms; a longer one is cut. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** Errors of sockets, of name look-up and of undici that mean: no whole answer came back. */
const NETWORK = /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_\w+|ERR_(SSL|TLS)_\w+|CERT_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT\w*|UNABLE_TO_\w+)$/;

/** Turns anything that a model call threw into a ModelError; a ModelError passes through. */
export function toModelError(error: unknown, provider: Provider, signal?: AbortSignal): ModelError {
  if (error instanceof ModelError) return error;
  return new ModelError(redacted(failureOf(error, provider, signal), provider.key));
}

function failureOf(error: unknown, provider: Provider, signal?: AbortSignal): Failure {
  if (signal?.aborted === true) return fail('cancelled', 'aborted', 'The model call was cancelled.');
  const chain = causesOf(error);
  const tooLarge = chain.find((cause) => codeOf(cause) === 'RESPONSE_TOO_LARGE');
  if (tooLarge) return fail('model-output', 'too-large', `${provider.id} sent more than a model answer may hold; lower the agent's maxOutputTokens.`);
  const network = chain.map(codeOf).find((code) => NETWORK.test(code)) ?? (chain.some((cause) => /^(terminated|fetch failed|other side closed)$/.test(messageOf(cause))) ? 'closed' : undefined);
  const api = chain.find((cause): cause is APICallError => APICallError.isInstance(cause));
  if (api?.statusCode !== undefined && !(network && api.statusCode < 400)) return ofStatus(api, api.statusCode, provider);
  if (network) return fail('network', network, `The answer of ${provider.id} did not arrive (${network}); is the address right and the service up?`);
  if (chain.some((cause) => LoadAPIKeyError.isInstance(cause))) return keyFailure(provider, 'no key is set');
  if (chain.some((cause) => cause instanceof Error && cause.name === 'AbortError')) return fail('cancelled', 'aborted', 'The model call was cancelled.');
  if (api) return fail('network', 'no-answer', `No answer came from ${provider.id}; is the address right and the service up?`);
  return fail('unknown', error instanceof Error ? error.name : 'thrown', `The model call failed: ${short(messageOf(error), provider.key)}`);
}

function ofStatus(api: APICallError, status: number, provider: Provider): Failure {
  const said = saidBy(api);
  const code = `http-${status}`;
  const later = retryAfterMs(api.responseHeaders ?? {}, Date.now());
  if (status === 401) return keyFailure(provider, `the provider refused the key (HTTP 401)`);
  if (status === 403) return keyFailure(provider, `the provider does not allow this key to use the model (HTTP 403)`);
  if (status === 404) return fail('not-found', code, `${provider.id} is not known to its provider (HTTP 404); name another model in LONGHAUL_MODEL.`);
  if (/content[_-]?(filter|policy)/i.test(said.code)) return fail('business-refusal', 'content-filter', `${provider.id} refused the content of the request.`);
  if (status === 402 || /insufficient_quota|billing|credit/i.test(said.code)) return fail('business-refusal', 'quota', `The account behind ${provider.keyVariable} has no credit left; top it up, then retry.`);
  if (status === 429) return { ...fail('rate-limited', code, `${provider.id} asks for a pause (HTTP 429).`), ...(later === null ? {} : { retryAfterMs: later }) };
  if (status >= 500 || status === 408 || status === 425) return { ...fail('server', code, `${provider.id} failed on its side (HTTP ${status}).`), ...(later === null ? {} : { retryAfterMs: later }) };
  if (status >= 400) return fail(status === 400 || status === 413 || status === 422 ? 'argument' : 'unknown', code, `${provider.id} refused the request (HTTP ${status}): ${short(said.message, provider.key)}`);
  // A success that cannot be read: cut off or not the provider's format. Asking again does no harm.
  return fail('server', 'bad-response', `${provider.id} answered with something that is not a model answer (HTTP ${status}).`);
}

function keyFailure(provider: Provider, what: string): Failure {
  return fail('model-key', 'key', `${provider.id}: ${what}; set ${provider.keyVariable} to a key that is valid for it and restart the worker.`);
}

/** ms to wait by `retry-after-ms` or `retry-after` (RFC 9110, 10.2.3: seconds or a date); null when neither can be read. */
export function retryAfterMs(headers: Record<string, string | undefined>, now: number): number | null {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return Math.min(Math.ceil(ms), MAX_RETRY_AFTER_MS);
  const text = headers['retry-after']?.trim();
  if (text === undefined || text === '') return null;
  const wait = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : /^[A-Za-z]{3}/.test(text) ? Date.parse(text) - now : Number.NaN;
  return Number.isFinite(wait) ? Math.min(Math.max(0, Math.ceil(wait)), MAX_RETRY_AFTER_MS) : null;
}

/** The provider's own code and words; both formats (OpenAI, Anthropic) put them under `error`. */
function saidBy(api: APICallError): { code: string; message: string } {
  try {
    const body = JSON.parse(api.responseBody ?? '') as { error?: { code?: unknown; type?: unknown; message?: unknown } };
    const { code, type, message } = body.error ?? {};
    return { code: `${typeof code === 'string' ? code : ''} ${typeof type === 'string' ? type : ''}`, message: typeof message === 'string' ? message : '' };
  } catch {
    return { code: '', message: '' };
  }
}

function redacted(failure: Failure, key: string): Failure {
  return { ...failure, code: redactText(failure.code), message: withoutCredentials(withoutKey(redactText(failure.message), key)) };
}

const withoutKey = (text: string, key: string): string => (key.length >= 4 ? text.split(key).join('[key]') : text);

const fail = (kind: ErrorClass, code: string, message: string): Failure => ({ class: kind, code, message });
/** Without secrets first: half of one, where the text is cut, would be found by nobody. */
function short(said: string, key: string): string {
  const text = withoutKey(redactText(said), key);
  return text === '' ? 'no reason was given.' : text.length > 300 ? `${text.slice(0, 297)}...` : text;
}
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
};

/** The error and what caused it, outside in; at most eight. */
function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at !== undefined && at !== null && chain.length < 8 && !chain.includes(at); at = (at as { cause?: unknown }).cause) chain.push(at);
  return chain;
}
