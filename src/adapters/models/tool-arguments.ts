// The one parser for arguments of tool calls, shared by all providers. Tolerant only where no meaning is at stake: nothing
// at all is `{}`, and one code fence around the whole is taken off. Everything else that is not one JSON object is an
// error for the model to mend. Never quotes what it read: arguments may hold what must not be repeated.
import type { Json } from '../../core/canonical';

/** Most characters of one call's arguments. */
const MAX_CHARS = 256 * 1024;

const FENCE = /^```[A-Za-z0-9]*[ \t]*\r?\n([\s\S]*?)\r?\n?[ \t]*```$/;

/** Reads the arguments of one call as the model wrote them; `error` is a sentence for the model. */
export function parseArguments(raw: string): { args: Json } | { error: string } {
  if (raw.length > MAX_CHARS) return { error: `The arguments are longer than ${MAX_CHARS} characters; send less at once.` };
  const trimmed = raw.trim();
  const text = (FENCE.exec(trimmed)?.[1] ?? trimmed).trim();
  if (text === '') return { args: {} };
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return { error: 'The arguments are not valid JSON; send exactly one JSON object and nothing around it.' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { error: 'The arguments are not a JSON object; send exactly one JSON object.' };
  const twice = duplicateKey(text);
  if (twice !== null) return { error: `The arguments name the member ${JSON.stringify(twice.slice(0, 60))} twice; name each member once.` };
  return { args: value };
}

/** A member name that stands twice in one object of a valid JSON text, or null. JSON.parse would silently keep the last. */
export function duplicateKey(json: string): string | null {
  const open: (Set<string> | null)[] = [];
  const token = /"(?:[^"\\]|\\.)*"|[{}[\]]/g;
  for (let match = token.exec(json); match; match = token.exec(json)) {
    const [text] = match;
    if (text === '{') open.push(new Set());
    else if (text === '[') open.push(null);
    else if (text === '}' || text === ']') open.pop();
    else if (/^\s*:/.test(json.slice(token.lastIndex, token.lastIndex + 64))) {
      const key = JSON.parse(text) as string;
      const names = open.at(-1);
      if (names?.has(key)) return key;
      names?.add(key);
    }
  }
  return null;
}
