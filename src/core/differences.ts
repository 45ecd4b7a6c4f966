// Where two JSON values differ, member by member, in the order of their names. Pure; words for people stand where they are said.
import { canonical, type Json } from './canonical';

/** One member that two values do not share: without `before` it is new, without `now` it is gone. */
export interface Change { path: string; before?: Json; now?: Json }

/**
 * Every change from one value to another. With `byId`, members of a list that all have an `id` of their own are told by it and not
 * by their place, so that one more in front is one change.
 */
export function changesOf(before: Json | undefined, now: Json | undefined, how: { byId?: boolean } = {}, path = ''): Change[] {
  if (isMembers(before) && isMembers(now)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
    return names.flatMap((name) => changesOf(before[name], now[name], how, path === '' ? name : `${path}.${name}`));
  }
  if (Array.isArray(before) && Array.isArray(now)) {
    const [old, fresh] = [before, now].map((list) => (how.byId ? keyed(list) : null));
    if (!old || !fresh) return Array.from({ length: Math.max(before.length, now.length) }, (_, i) => changesOf(before[i], now[i], how, `${path}[${i}]`)).flat();
    return [...new Set([...old.keys(), ...fresh.keys()])].flatMap((id) => changesOf(old.get(id), fresh.get(id), how, `${path}[${id}]`));
  }
  if (before === undefined && now === undefined) return [];
  if (before !== undefined && now !== undefined && canonical(before) === canonical(now)) return [];
  return [{ path, ...(before === undefined ? {} : { before }), ...(now === undefined ? {} : { now }) }];
}

const isMembers = (value: Json | undefined): value is { [key: string]: Json } => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A list by the ids of its members; null when one has none, or two have the same. */
function keyed(list: Json[]): Map<string, Json> | null {
  const found = new Map(list.flatMap((one) => (isMembers(one) && typeof one['id'] === 'string' ? [[one['id'], one] as const] : [])));
  return found.size === list.length ? found : null;
}
