// The door of offline replay: what an event must look like before anything reads it (I7). A journal may come from a file that
// somebody edited, so nothing of its shape is trusted. Answers words for a person; never throws, folds nothing.

/** Levels that an event may nest. */
const DEEPEST = 200;

/** Words on what is wrong with the shape of an event; null when nothing is. */
export function shapeFault(value: unknown): string | null {
  if (!isMembers(value)) return 'it is no event but something else';
  const tooDeep = oddMember(value);
  if (tooDeep !== null) return tooDeep;
  if (value['v'] === undefined) return 'it lacks the version of its schema (v)';
  if (!isWhole(value['v'])) return `the version of its schema is ${quoted(value['v'])}, which is no whole number above 0`;
  if (!isWhole(value['seq'])) return `its number is ${quoted(value['seq'])}, which is no whole number above 0`;
  for (const name of ['runId', 'type', 'causationId', 'correlationId']) if (typeof value[name] !== 'string' || value[name] === '') return `its envelope lacks ${name}`;
  if (typeof value['at'] !== 'number' || !Number.isFinite(value['at'])) return `its time is ${quoted(value['at'])}, which is no number`;
  if (value['idempotencyKey'] !== undefined && typeof value['idempotencyKey'] !== 'string') return 'its idempotency key is no text';
  const { actor, data } = value;
  if (!isMembers(actor) || typeof actor['id'] !== 'string' || actor['id'] === '') return 'its envelope lacks an actor';
  return isMembers(data) ? null : 'it has no data';
}

/** Words on a member that no writer of this project makes, anywhere in a value; null when there is none. */
export function oddMember(value: unknown): string | null {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.depth > DEEPEST) return `it nests deeper than ${DEEPEST} levels`;
    if (Object.hasOwn(next.value, '__proto__')) return 'it has a member called __proto__, which no run writes';
    for (const part of Object.values(next.value)) open.push({ value: part, depth: next.depth + 1 });
  }
  return null;
}

const isMembers = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0;
const quoted = (value: unknown): string => (value === undefined ? 'missing' : JSON.stringify(value).slice(0, 40));
