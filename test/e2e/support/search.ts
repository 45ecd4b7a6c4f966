// Searches everything that a run leaves behind for a value: files byte for byte, and JSON with what is encoded inside of it.
// Knows nothing of how the product looks for secrets: its forms are made here anew. Finds; judges nothing.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** A value as it may stand somewhere: plain, percent-encoded, in hex, in JSON, and the part of its base64 that is the same wherever it begins. */
export function formsOf(value: string): string[] {
  const base64 = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]).toString('base64');
    const core = text.slice(before === 0 ? 0 : 4, -4);
    return [core, core.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const percent = encodeURIComponent(value);
  return [...new Set([value, percent, percent.toLowerCase(), encodeURIComponent(percent), JSON.stringify(value).slice(1, -1), Buffer.from(value).toString('hex'), ...base64])];
}

/** Names of the values that a text or bytes hold, in any form. */
export function heldBy(content: string | Buffer, values: Record<string, string>): string[] {
  return Object.entries(values).filter(([, value]) => formsOf(value).some((form) => content.includes(form))).map(([name]) => name);
}

/** `file: name` for every file under a folder that holds a value. Files that vanish meanwhile hold nothing. */
export function filesHolding(folder: string, values: Record<string, string>): string[] {
  return readdirSync(folder, { recursive: true }).map(String).sort().flatMap((name) => {
    const file = path.join(folder, name);
    if (name.startsWith('node_modules') || !existsSync(file) || !statSync(file).isFile()) return [];
    return heldBy(readFileSync(file), values).map((found) => `${name}: ${found}`);
  });
}

/** Any value as text, bytes in it as the text that they are. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (Array.isArray(value)) return value.map(plain);
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)])) : value;
}

/** A value as text, with everything that is base64 in it decoded beside it, down to three levels: payloads of a history hold JSON as bytes. */
export function opened(value: unknown, depth = 0): string {
  const text = JSON.stringify(plain(value));
  if (depth === 3) return text;
  const inner = [...text.matchAll(/[A-Za-z0-9+/_-]{12,}={0,2}/g)].map(([found]) => Buffer.from(found, 'base64').toString('utf8')).filter((one) => /[ -~]{8,}/.test(one));
  return [text, ...inner.map((one) => opened(one, depth + 1))].join('\n');
}
