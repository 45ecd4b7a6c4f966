// One HTTP request to the service `publisher`, and what its answers mean: refusals become ToolErrors of the closed table.
// `network` is said only when no connection was made; a request that may have arrived stays unknown. Never retries.
import { ToolError, type ToolCall } from 'longhaul';

export interface PublisherAnswer { status: number; etag: string | null; text: string; retryAfterMs: number | undefined }

/** Errors that come before anything was sent. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);
const MOST_BYTES = 8 * 1024 * 1024;

/** Sends one request; `path` begins with a slash. */
export async function askPublisher(call: ToolCall, path: string, init: { method?: string; headers?: Record<string, string>; body?: Uint8Array } = {}): Promise<PublisherAnswer> {
  const url = new URL(path, call.service('publisher'));
  try {
    const response = await fetch(url, { ...init, signal: call.signal, redirect: 'error' });
    const body = Buffer.from(await response.arrayBuffer()).subarray(0, MOST_BYTES);
    const later = Number(response.headers.get('retry-after') ?? Number.NaN) * 1_000;
    return { status: response.status, etag: response.headers.get('etag'), text: body.toString('utf8'), retryAfterMs: Number.isFinite(later) ? later : undefined };
  } catch (error) {
    const code = codeOf(error);
    if (NOT_CONNECTED.has(code)) throw new ToolError('network', code, `The publisher at ${url.origin} cannot be reached (${code}); is it running?`);
    throw error;
  }
}

function codeOf(error: unknown): string {
  const cause = (error as { cause?: unknown }).cause;
  const inner = cause instanceof AggregateError ? cause.errors[0] as unknown : cause;
  return String((inner as { code?: unknown } | undefined)?.code ?? '');
}

/** The refusal in an answer. */
export function refusalOf({ status, text, retryAfterMs }: PublisherAnswer): ToolError {
  const why = errorIn(text);
  if (status === 412) return new ToolError('business-refusal', 'changed', 'What is published has changed since the approval was asked; look at the difference again.');
  if (status === 422) return new ToolError('mismatch', 'key-reused', `The publisher has this key for another request: ${why}`);
  if (status === 409) return new ToolError('server', 'in-flight', 'The publisher is still handling a request with this key.', retryAfterMs ?? 1_000);
  if (status === 429) return new ToolError('rate-limited', 'http-429', `The publisher asks for a pause: ${why}`, retryAfterMs);
  if (status === 401 || status === 403) return new ToolError('permission', `http-${status}`, `The publisher refuses this worker: ${why}`);
  if (status >= 500) return new ToolError('server', `http-${status}`, `The publisher failed on its side: ${why}`, retryAfterMs);
  return new ToolError('argument', `http-${status}`, `The publisher refused the request: ${why}`);
}

function errorIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? error.slice(0, 300) : 'it gave no reason.';
  } catch {
    return 'it gave no reason.';
  }
}
