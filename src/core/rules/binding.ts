// Binding: how `$from` in the arguments of a step becomes a value, or a pointer into an artifact that an activity loads.
// Pure and total for every JSON value; owns no bytes and resolves no secret (`$secret` stays a name, I11).
// What is bound is data: a bound value that holds a reserved member is refused, so that the output of a tool can never
// name a secret, another step or another run's artifact.
import type { Json } from '../canonical';
import type { ArtifactRef, Output } from '../run';

/** A place in the output of a step: `collect.files.0` is step `collect`, path `['files', '0']`. */
export interface StepPath { stepId: string; path: string[] }

/** What `bind` leaves where the value is too large to stand inline: the member at `path` of the value in those bytes, with an empty path all of it. */
export interface ArtifactPointer { $artifact: ArtifactRef; path: string[] }

/** Do the bytes of an output hold a value, JSON or text, that was only too large to stand inline? Anything else is a file, and is named. */
const holdsValue = ({ mediaType }: Partial<ArtifactRef>): boolean => mediaType === undefined || /^(text\/|application\/json\b)/.test(mediaType);

/** Depth of nesting that arguments may have. */
export const MAX_DEPTH = 64;

/** Depth of nesting beyond which no JSON is taken at any door: what walks through it by recursion would run out of stack. */
export const DEEPEST_JSON = 200;

/** Whether a value is nested deeper than `depth` levels. Without recursion, which what arrives could exhaust; each object once a level. */
export function nestedBeyond(value: unknown, depth: number): boolean {
  let level = new Set([value]);
  for (let at = 0; level.size > 0; at += 1) {
    if (at > depth) return true;
    level = new Set([...level].flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : [])));
  }
  return false;
}

/** Member names that mean something to the runtime when they stand in arguments. */
const RESERVED = new Set(['$from', '$secret', '$artifact']);

type Members = { [key: string]: Json };
const isMembers = (value: Json | undefined): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);
const has = (value: object, key: string): boolean => Object.prototype.hasOwnProperty.call(value, key);

/** Reads `step.path.to`; null when it is not a step id followed by member names. */
export function stepPathOf(text: string): StepPath | null {
  const [stepId = '', ...path] = text.split('.');
  if (stepId === '' || path.some((name) => name === '' || name === '__proto__')) return null;
  return { stepId, path };
}

/** True for `{"$from": "step.path"}` with nothing beside it. */
function fromOf(value: Json): StepPath | null {
  if (!isMembers(value) || !has(value, '$from')) return null;
  const text = value['$from'];
  return typeof text === 'string' && Object.keys(value).length === 1 ? stepPathOf(text) : null;
}

/** Every `$from` in the arguments, in reading order, malformed ones left out (`faultsIn` names those). */
export function refsIn(args: Json): StepPath[] {
  const found: StepPath[] = [];
  walk(args, 0, (value) => {
    const from = fromOf(value);
    if (from) found.push(from);
  });
  return found;
}

/** Ids of the steps that the arguments refer to, each once, in reading order. */
export const usesOf = (args: Json): string[] => [...new Set(refsIn(args).map((ref) => ref.stepId))];

/**
 * What is wrong with arguments as written, one phrase each: a malformed `$from` or `$secret`, a member that only the
 * runtime may write (`$artifact`), `__proto__`, nesting deeper than MAX_DEPTH.
 */
export function faultsIn(args: Json): string[] {
  const faults = new Set<string>();
  const complete = walk(args, 0, (value) => {
    if (!isMembers(value)) return;
    if (has(value, '__proto__')) faults.add('the member name __proto__ is not allowed');
    if (has(value, '$artifact')) faults.add('the member name $artifact is written by the runtime only; refer to a step with $from');
    if (has(value, '$from') && !fromOf(value)) faults.add('$from must stand alone and read "step" or "step.path.to"');
    if (has(value, '$secret') && (typeof value['$secret'] !== 'string' || value['$secret'] === '' || Object.keys(value).length !== 1)) {
      faults.add('$secret must stand alone and name a secret');
    }
  });
  if (!complete) faults.add(`nested deeper than ${MAX_DEPTH} levels`);
  return [...faults];
}

/**
 * Replaces each `$from` in `args` by what `inputs` holds: the small value at the path; an ArtifactPointer to a large one, which an
 * activity loads, so that a tool gets the same whatever its size; or the ArtifactRef itself for a step whose output is a file.
 * `fault` is one sentence without the end dot's subject: it names the reference that leads nowhere.
 */
export function bind(args: Json, inputs: Record<string, Output>): { ok: Json } | { fault: string } {
  const written = faultsIn(args);
  if (written[0] !== undefined) return { fault: `The arguments cannot be bound: ${written[0]}.` };
  try {
    return { ok: replace(args, inputs) };
  } catch (error) {
    if (error instanceof BindingFault) return { fault: error.message };
    throw error;
  }
}

/** True when a value holds a member that the runtime would act on; such a value is never bound into arguments. */
export function holdsReserved(value: Json): boolean {
  let found = false;
  const complete = walk(value, 0, (part) => {
    if (isMembers(part)) found ||= Object.keys(part).some((key) => RESERVED.has(key) || key === '__proto__');
  });
  return found || !complete;
}

/**
 * What is wrong with arguments that a person has edited, which are bound already: `$from` would not be resolved any more. Pointers
 * into artifacts stand there as they were shown; `pointers` are their ids, for the hands to ask whether they are of this run.
 */
export function faultsInEdited(args: Json): { faults: string[]; pointers: string[] } {
  const faults = new Set<string>();
  const pointers = new Set<string>();
  if (!isMembers(args)) faults.add('they must be an object with named members');
  const complete = walk(args, 0, (value) => {
    if (!isMembers(value)) return;
    if (has(value, '__proto__')) faults.add('the member name __proto__ is not allowed');
    if (has(value, '$from')) faults.add('$from is not looked up in edited arguments; write the value in its place');
    if (has(value, '$secret') && (typeof value['$secret'] !== 'string' || value['$secret'] === '' || Object.keys(value).length !== 1)) faults.add('$secret must stand alone and name a secret');
    if (!has(value, '$artifact')) return;
    const ref = value['$artifact'];
    const whole = isMembers(ref) && typeof ref['sha256'] === 'string' && Array.isArray(value['path']) && value['path'].every((name) => typeof name === 'string') && Object.keys(value).length === 2;
    if (whole) pointers.add(String((ref as Members)['sha256']));
    else faults.add('a pointer into an artifact must stay as it was shown');
  });
  if (!complete) faults.add(`nested deeper than ${MAX_DEPTH} levels`);
  return { faults: [...faults], pointers: [...pointers] };
}

/** True when the arguments name a secret anywhere, also where the name itself is malformed. */
export function namesSecret(args: Json): boolean {
  let found = false;
  walk(args, 0, (part) => { found ||= isMembers(part) && has(part, '$secret'); });
  return found;
}

/** Names of all secrets that a value refers to. */
export function secretsNamed(value: Json): string[] {
  const names = new Set<string>();
  walk(value, 0, (part) => { if (isMembers(part) && has(part, '$secret') && typeof part['$secret'] === 'string') names.add(part['$secret']); });
  return [...names];
}

/** The member at `path`, by own members and list positions only; undefined when there is none. */
export function memberAt(value: Json, path: string[]): Json | undefined {
  let at: Json | undefined = value;
  for (const name of path) {
    if (Array.isArray(at)) at = /^(0|[1-9][0-9]{0,8})$/.test(name) ? at[Number(name)] : undefined;
    else if (isMembers(at) && has(at, name) && name !== '__proto__') at = at[name];
    else return undefined;
  }
  return at;
}

/** Leaves the recursion of `replace`; never leaves this file. */
class BindingFault extends Error {}

function replace(value: Json, inputs: Record<string, Output>): Json {
  if (Array.isArray(value)) return value.map((item) => replace(item, inputs));
  if (!isMembers(value)) return value;
  const from = fromOf(value);
  if (from) return valueAt(from, inputs);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replace(member, inputs)]));
}

function valueAt(from: StepPath, inputs: Record<string, Output>): Json {
  const name = [from.stepId, ...from.path].join('.');
  const output = has(inputs, from.stepId) ? inputs[from.stepId] : undefined;
  if (!output) throw new BindingFault(`$from "${name}" leads to nothing: step ${from.stepId} has no output.`);
  if ('ref' in output) {
    const ref = output.ref as unknown as Json;
    return from.path.length === 0 && !holdsValue(output.ref) ? ref : { $artifact: ref, path: from.path };
  }
  const found = memberAt(output.value, from.path);
  if (found === undefined) throw new BindingFault(`$from "${name}" leads to nothing: the output of step ${from.stepId} has no such member.`);
  if (holdsReserved(found)) throw new BindingFault(`$from "${name}" is refused: the output of step ${from.stepId} holds a reserved member name.`);
  return found;
}

/** Visits a value and what it holds, outside in; false when it is nested too deeply to have been seen whole. */
function walk(value: Json, depth: number, visit: (value: Json) => void): boolean {
  if (depth > MAX_DEPTH) return false;
  visit(value);
  if (Array.isArray(value)) return value.reduce<boolean>((whole, item) => walk(item, depth + 1, visit) && whole, true);
  if (isMembers(value)) return Object.values(value).reduce<boolean>((whole, item) => walk(item, depth + 1, visit) && whole, true);
  return true;
}
