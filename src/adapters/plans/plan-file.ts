// Reads a declared plan from a file, YAML 1.2 or JSON (which is YAML too), into plain JSON. Judges form only: what the steps
// mean is core/rules/plan-reading.ts. Refuses what a plan never needs and what can be used to hide or to exhaust: duplicate
// keys, aliases that multiply, tags, merge keys, several documents, values that JSON cannot carry.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { LineCounter, parseAllDocuments, type Document, type YAMLError } from 'yaml';
import type { Json } from '../../core/canonical';
import { nestedBeyond } from '../../core/rules/binding';

/** Most bytes of a plan file. */
export const MAX_PLAN_BYTES = 1024 * 1024;

/** Aliases may stand for at most this many nodes in all. */
const MAX_ALIASES = 100;

const MAX_DEPTH = 100;

/** Thrown by `readPlanFile` and `parsePlanText`: one sentence that names the file, the line and what to change. */
export class PlanFileError extends Error {}

/** Reads the file at `path`. Throws PlanFileError. */
export async function readPlanFile(path: string): Promise<Json> {
  return parsePlanText(await textOf(path), path);
}

async function textOf(path: string): Promise<string> {
  let file;
  try {
    // Not blocking: a pipe at this path must not hang the command line.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new PlanFileError(`The plan ${path} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : (code ?? 'it failed')}.`);
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new PlanFileError(`The plan ${path} is not a file.`);
    if (stat.size > MAX_PLAN_BYTES) throw new PlanFileError(`The plan ${path} has ${stat.size} bytes; at most ${MAX_PLAN_BYTES} are read. Move large texts into files that a tool reads.`);
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.readFile());
  } catch (error) {
    if (error instanceof PlanFileError) throw error;
    throw new PlanFileError(`The plan ${path} is not text in UTF-8.`);
  } finally {
    await file.close();
  }
}

/** Parses a plan's text; `path` is only for the sentence. Throws PlanFileError. */
export function parsePlanText(text: string, path: string): Json {
  if (Buffer.byteLength(text) > MAX_PLAN_BYTES) throw new PlanFileError(`The plan ${path} has more than ${MAX_PLAN_BYTES} bytes.`);
  if (depthOf(text) > MAX_DEPTH) throw tooDeep(path);
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { version: '1.2', schema: 'core', merge: false, uniqueKeys: true, strict: true, stringKeys: true, prettyErrors: false, lineCounter: lines });
  if (!Array.isArray(documents) || documents.length === 0) throw new PlanFileError(`The plan ${path} is empty.`);
  const [first, second] = documents as Document.Parsed[];
  if (!first || second) throw new PlanFileError(`The plan ${path} holds several documents; keep one.`);
  const fault = first.errors[0] ?? first.warnings[0];
  if (fault) throw new PlanFileError(`The plan ${path} cannot be read at ${placeOf(fault, lines)}: ${sentenceOf(fault)}`);
  return jsonOf(first, path);
}

function jsonOf(document: Document.Parsed, path: string): Json {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES, mapAsMap: false });
  } catch (error) {
    throw new PlanFileError(`The plan ${path} cannot be read: ${error instanceof Error && /alias/i.test(error.message) ? 'its aliases stand for too many values; write them out' : 'its values cannot be told'}.`);
  }
  if (nestedBeyond(value, MAX_DEPTH)) throw tooDeep(path);
  const odd = oddValue(value, '');
  if (odd !== null) throw new PlanFileError(`The plan ${path} holds a value at ${odd} that JSON cannot carry; write it as a text in quotes.`);
  return value as Json;
}

const tooDeep = (path: string): PlanFileError => new PlanFileError(`The plan ${path} is nested deeper than ${MAX_DEPTH} levels; move what lies deeper into a file that a tool reads.`);

function placeOf({ pos }: YAMLError, lines: LineCounter): string {
  const { line, col } = lines.linePos(pos[0]);
  return `line ${line}, column ${col}`;
}

function sentenceOf({ code, message }: YAMLError): string {
  if (code === 'DUPLICATE_KEY') return 'a member is named twice; keep one.';
  if (code === 'TAG_RESOLVE_FAILED') return 'tags (!...) are not allowed; write the value plainly.';
  const [first = ''] = message.split('\n');
  const short = first.length > 200 ? `${first.slice(0, 197)}...` : first;
  return /[.!?]$/.test(short) ? short : `${short}.`;
}

/** Depth of brackets outside of quotes, or of block indentation, seen before the parser recurses. */
function depthOf(text: string): number {
  let [most, depth, indents] = [0, 0, [] as number[]];
  for (const line of text.split('\n')) {
    const indent = /^[ \-?]*/.exec(line)?.[0].length ?? 0;
    while (indents.length > 0 && (indents.at(-1) ?? 0) >= indent) indents.pop();
    indents = [...indents, indent].slice(-(MAX_DEPTH + 2));
    for (const [mark] of line.matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|[[\]{}]/g)) {
      if (mark === '[' || mark === '{') most = Math.max(most, depth += 1);
      if (mark === ']' || mark === '}') depth = Math.max(0, depth - 1);
    }
    most = Math.max(most, indents.length, (/^(?:[-?] +)*/.exec(line.trimStart())?.[0].length ?? 0) / 2);
  }
  return most;
}

/** Path of the first value that is no JSON (NaN, bytes, a whole number that would be rounded), or null. */
function oddValue(value: unknown, path: string): string | null {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return null;
  if (typeof value === 'number') return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)) ? null : path || 'the top';
  if (typeof value !== 'object') return path || 'the top';
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return path || 'the top';
  for (const [key, member] of Object.entries(value)) {
    const odd = oddValue(member, path === '' ? key : `${path}.${key}`);
    if (odd !== null) return odd;
  }
  return null;
}
