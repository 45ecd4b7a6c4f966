// Members of arguments that a tool names as sensitive: their values are needed to make the call and are shown to nobody. A name
// stands for every member of that name, at any depth; a path such as `auth.pin` for that one member; positions in lists are
// passed over. A `{"$secret": name}` is no value and stays. Pure.
import type { Json } from './canonical';

/** What is shown in place of a value. */
export const HIDDEN = '[hidden]';

const isMembers = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const POSITION = /^\d+$/;

/** Is the member at this path sensitive, or inside of one that is? */
export function isSensitive(sensitive: readonly string[], path: readonly string[]): boolean {
  const names = path.filter((name) => !POSITION.test(name));
  return sensitive.some((one) => (one.includes('.') ? `${names.join('.')}.`.startsWith(`${one}.`) : names.includes(one)));
}

/** The arguments as they may be shown. */
export function shownArgs(args: Json, sensitive: readonly string[] = []): Json {
  return sensitive.length === 0 ? args : shown(args, sensitive, []);
}

function shown(value: Json, sensitive: readonly string[], path: readonly string[]): Json {
  if (Array.isArray(value)) return value.map((item) => shown(item, sensitive, path));
  if (!isMembers(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]): [string, Json] => {
    const at = [...path, name];
    if (!isSensitive(sensitive, at)) return [name, shown(member, sensitive, at)];
    return [name, namesSecret(member) ? member : HIDDEN];
  }));
}

const namesSecret = (value: unknown): boolean => isMembers(value) && typeof value['$secret'] === 'string' && Object.keys(value).length === 1;

/** Fewest characters of a sensitive value that is looked for in a text. */
const LEAST = 4;

/** A text that was made from the arguments, e.g. a preview, without the sensitive values that it repeats. */
export function withoutSensitive(text: string, args: unknown, sensitive: readonly string[] = []): string {
  if (sensitive.length === 0) return text;
  const values = [...new Set(valuesIn(args, sensitive, []))].filter((value) => value.length >= LEAST).sort((a, b) => b.length - a.length);
  return values.reduce((clean, value) => clean.replaceAll(value, HIDDEN), text);
}

function valuesIn(value: unknown, sensitive: readonly string[], path: readonly string[]): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => valuesIn(item, sensitive, path));
  if (isMembers(value)) return namesSecret(value) ? [] : Object.entries(value).flatMap(([name, member]) => valuesIn(member, sensitive, [...path, name]));
  return isSensitive(sensitive, path) && (typeof value === 'string' || typeof value === 'number') ? [String(value)] : [];
}
