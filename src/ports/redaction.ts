// Port: what keeps values of secrets out of everything that is stored, shown or sent to a model. Process-wide, since the values
// are: a composition root installs a redactor that knows them, and every place where text leaves asks here. Without one, text
// passes as it is. Owns no value. Total: never throws, and what holds no secret comes back unchanged, as the same value.

/** Knows values of secrets in all the forms in which they are written (adapters/secrets/forms.ts). */
export interface Redactor {
  /** The text with a mark, `[secret NAME]`, in place of every known value. */
  text(text: string): string;
  /** Name of the first secret whose value the text holds, or null. */
  found(text: string): string | null;
  /** Where known values lie in a text. */
  spans(text: string): { from: number; to: number }[];
}

const installed = new Set<Redactor>();

/** Installs a redactor beside those that are there; answers how to take it out again. Called by composition roots. */
export function installRedactor(redactor: Redactor): () => void {
  installed.add(redactor);
  return () => void installed.delete(redactor);
}

/** A text without values of secrets. */
export function redactText(text: string): string {
  let clean = text;
  for (const redactor of installed) clean = redactor.text(clean);
  return clean;
}

/** The same of any JSON value: every text in it, names of members and long numbers too. */
export function redactJson<T>(value: T): T {
  return installed.size === 0 ? value : mapped(value, 0, new Set()) as T;
}

/** The same of a shape of the runtime's own: its member names stay, and so do the values under those named, e.g. a `kind`. */
export function redactBut<T>(own: ReadonlySet<string>, value: T): T {
  return installed.size === 0 ? value : mapped(value, 0, own) as T;
}

/** Nobody nests deeper; what does is cut off rather than passed on unseen. */
const MAX_DEPTH = 200;

function mapped(value: unknown, depth: number, own: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'number') return foundIn(value) === null ? value : redactText(String(value));
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapped(item, depth + 1, own));
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  const before = Object.entries(value);
  const after = before.map(([name, member]): [string, unknown] => [own.size > 0 ? name : redactText(name), own.has(name) ? member : mapped(member, depth + 1, own)]);
  return after.every(([name, member], i) => name === before[i]?.[0] && member === before[i]?.[1]) ? value : Object.fromEntries(after);
}

/** Name of a secret whose value stands anywhere in a JSON value (as text, member name or number), or null. */
export function secretIn(value: unknown, depth = 0): string | null {
  if (installed.size === 0) return null;
  if (typeof value !== 'object' || value === null) return foundIn(value);
  if (depth > MAX_DEPTH) return null;
  for (const [name, member] of Object.entries(value)) {
    const found = (Array.isArray(value) ? null : foundIn(name)) ?? secretIn(member, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

/** A number shorter than any secret is not looked at. */
function foundIn(value: unknown): string | null {
  const text = typeof value === 'string' ? value : typeof value === 'number' && Math.abs(value) > 9_999_999 ? String(value) : null;
  if (text === null) return null;
  for (const redactor of installed) {
    const found = redactor.found(text);
    if (found !== null) return found;
  }
  return null;
}

/**
 * Bytes without values of secrets. Text gets marks; JSON stays JSON. In other bytes a value is overwritten with as many
 * asterisks, so that nothing in them moves.
 */
export function redactBytes(bytes: Uint8Array, mediaType: string): Uint8Array {
  if (installed.size === 0) return bytes;
  const text = utf8(bytes);
  if (text === null) return redactBinary(bytes);
  const clean = redactText(text);
  if (clean === text) return bytes;
  return Buffer.from(/\bjson\b/.test(mediaType) ? jsonWithout(text) ?? clean : clean, 'utf8');
}

function jsonWithout(text: string): string | null {
  try {
    return JSON.stringify(redactJson(JSON.parse(text) as unknown));
  } catch {
    return null;
  }
}

function utf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function redactBinary(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString('latin1');
  if (foundIn(text) === null) return bytes;
  const out = Buffer.from(bytes);
  for (const { from, to } of [...installed].flatMap((redactor) => redactor.spans(text))) out.fill('*', from, to);
  return out;
}

/** Prose about credentials ("basic authentication failed") stays: what is taken for one has a digit or a mark of base64. */
const CREDENTIALS: readonly [RegExp, string][] = [
  [/\b(bearer|basic)\s+(?=\S*[0-9=+/])[A-Za-z0-9._~+/=-]{6,}/gi, '$1 [removed]'],
  [/\b((?:proxy-)?authorization|x-api-key|api-key)(["']?\s*[:=]\s*["']?)(?!bearer|basic)(?=\S*[0-9])[^\s"',;]{6,}/gi, '$1$2[removed]'],
  [/\b((?:set-)?cookie)(["']?\s*[:=]\s*["']?)(?=[^\s=]+=)[^\n"']{6,}/gi, '$1$2[removed]'],
  [/([a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]+@/gi, '$1[removed]@'],
  [/([?&](?:access_token|api_?key|token|secret|password|signature|sig)=)[^&\s"'#]{4,}/gi, '$1[removed]'],
  [/\b(sk|pk|rk)-[A-Za-z0-9_*-]{6,}/g, '[key]'],
];

/** A sentence about a failure without what looks like a credential, known or not: headers, passwords in addresses, keys. */
export function withoutCredentials(text: string): string {
  return CREDENTIALS.reduce((clean, [pattern, mark]) => clean.replace(pattern, mark), text);
}
