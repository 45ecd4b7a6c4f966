// Which model a worker has: one variable, or a provider's key alone. Nothing is asked over the network here; a wrong key
// shows at the first call. A model's id (`provider:model`) is pinned in each run, and `modelById` finds it again later.
// Never logs a key and sends one only to the provider that it belongs to.
import type { ModelPort } from '../../ports/model';
import { aiSdkModel } from './ai-sdk-model';
import { cappedFetch } from './capped-fetch';
import { parsePrice, priceOf, type Price } from './prices';

type Env = Record<string, string | undefined>;

/** `note` is said once at start, e.g. that the model's price is not known. */
export type Found = { id: string; port: ModelPort; note?: string };

/** Models taken when only a key is set: capable of tool calls, priced, in each provider's list for a while yet. */
export const DEFAULT_MODELS = { openai: 'gpt-5.1', anthropic: 'claude-sonnet-4-6' } as const;

const HOW = 'Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or LONGHAUL_MODEL to openai:<model>, anthropic:<model>, openai-compatible:<url>#<model> or rules@1 (which needs no key).';

const VENDOR_ID = /^(openai|anthropic):([A-Za-z0-9][A-Za-z0-9._:/-]{0,127})$/;

/**
 * The model chosen by the environment: LONGHAUL_MODEL; else the default model of the provider whose key is set
 * (OPENAI_API_KEY before ANTHROPIC_API_KEY). `missing` is one sentence that names the fix.
 */
export function modelFromEnv(env: Env): Found | { missing: string } {
  const chosen = env['LONGHAUL_MODEL']?.trim() ?? '';
  if (chosen !== '') return modelById(chosen, env);
  if (has(env['OPENAI_API_KEY'])) return modelById(`openai:${DEFAULT_MODELS.openai}`, env);
  if (has(env['ANTHROPIC_API_KEY'])) return modelById(`anthropic:${DEFAULT_MODELS.anthropic}`, env);
  return { missing: `No model is chosen. ${HOW}` };
}

/**
 * The id that the environment names, to be pinned in a run, also when its key is missing: the call then fails with the
 * sentence that names the key. Null when nothing is named, or something that cannot be read or holds a password.
 */
export function modelIdFromEnv(env: Env): string | null {
  const found = modelFromEnv(env);
  if ('id' in found) return found.id;
  const named = env['LONGHAUL_MODEL']?.trim() ?? '';
  return VENDOR_ID.test(named) ? named : null;
}

/** The model with this id, with the key from the environment; `missing` when the id cannot be read or its key is not there. */
export function modelById(id: string, env: Env): Found | { missing: string } {
  if (id === 'rules@1') return { id, port: aiSdkModel(loadRules, { id, keyVariable: 'LONGHAUL_MODEL', key: '' }, { input: 0, output: 0 }) };
  const price = env['LONGHAUL_MODEL_PRICE']?.trim() ? parsePrice(env['LONGHAUL_MODEL_PRICE']) : undefined;
  if (price === null) return { missing: 'LONGHAUL_MODEL_PRICE is not a price; write US dollars per million tokens in and out, e.g. 3,15.' };
  const compatible = /^openai-compatible:(.+)#([^#\s]+)$/.exec(id);
  if (compatible) return compatibleModel(id, compatible[1] ?? '', compatible[2] ?? '', env, price ?? null);
  const named = VENDOR_ID.exec(id);
  if (!named) return { missing: `The model "${id.slice(0, 120)}" cannot be read. ${HOW}` };
  return vendorModel(id, named[1] as 'openai' | 'anthropic', named[2] ?? '', env, price ?? priceOf(named[2] ?? ''));
}

/** Price of a model by its id, set by LONGHAUL_MODEL_PRICE or known; null when it is neither. */
export function modelPrice(id: string, env: Env): Price | null {
  const set = env['LONGHAUL_MODEL_PRICE']?.trim() ? parsePrice(env['LONGHAUL_MODEL_PRICE']) : null;
  return id === 'rules@1' ? null : set ?? priceOf(VENDOR_ID.exec(id)?.[2] ?? '');
}

/** What is to be said once, at start, of the models that agents are pinned to: a price that is not known. */
export function modelNotes(ids: Iterable<string | null>, env: Env): string[] {
  return [...new Set(ids)].flatMap((id) => {
    const found = id === null ? undefined : modelById(id, env);
    return found && 'note' in found && found.note !== undefined ? [found.note] : [];
  });
}

function vendorModel(id: string, vendor: 'openai' | 'anthropic', model: string, env: Env, price: Price | null): Found | { missing: string } {
  const keyVariable = vendor === 'openai' ? 'OPENAI_API_KEY' : 'ANTHROPIC_API_KEY';
  const key = env[keyVariable]?.trim() ?? '';
  if (key === '') return { missing: `The model ${id} needs a key: set ${keyVariable} and restart the worker.` };
  if (!headerSafe(key)) return { missing: `${keyVariable} holds a character that no key has; set it again without spaces or line ends.` };
  const baseURL = env[vendor === 'openai' ? 'OPENAI_BASE_URL' : 'ANTHROPIC_BASE_URL']?.trim();
  const settings = { apiKey: key, fetch: cappedFetch, ...(has(baseURL) ? { baseURL } : {}) };
  // Chat completions, not responses: each request then carries the whole input, and nothing is kept at the provider.
  const load = vendor === 'openai'
    ? async () => (await import('@ai-sdk/openai')).createOpenAI(settings).chat(model)
    : async () => (await import('@ai-sdk/anthropic')).createAnthropic(settings)(model);
  return found(id, aiSdkModel(load, { id, keyVariable, key }, price), price);
}

function compatibleModel(id: string, url: string, model: string, env: Env, price: Price | null): Found | { missing: string } {
  const base = URL.canParse(url) ? new URL(url) : null;
  if (!base || !/^https?:$/.test(base.protocol)) return { missing: `"${url.slice(0, 120)}" is not a web address; write openai-compatible:https://host/v1#model.` };
  if (base.username !== '' || base.password !== '') return { missing: 'The address of the model holds a password; put the key into LONGHAUL_MODEL_API_KEY instead.' };
  const key = env['LONGHAUL_MODEL_API_KEY']?.trim() ?? '';
  if (!headerSafe(key)) return { missing: 'LONGHAUL_MODEL_API_KEY holds a character that no key has; set it again without spaces or line ends.' };
  const load = async () => (await import('@ai-sdk/openai-compatible'))
    .createOpenAICompatible({ name: 'openai-compatible', baseURL: url, fetch: cappedFetch, ...(key === '' ? {} : { apiKey: key }) })(model);
  return found(id, aiSdkModel(load, { id, keyVariable: 'LONGHAUL_MODEL_API_KEY', key }, price), price);
}

function found(id: string, port: ModelPort, price: Price | null): Found {
  if (price) return { id, port };
  return { id, port, note: `The price of ${id} is not known, so its calls count 0 in money budgets; set LONGHAUL_MODEL_PRICE to US dollars per million tokens in and out, e.g. 3,15.` };
}

const loadRules = async () => (await import('./rules')).rulesModel();

const has = (text: string | undefined): text is string => text !== undefined && text.trim() !== '';
const headerSafe = (key: string): boolean => /^[\x21-\x7e]*$/.test(key);
