// Which members a tool's arguments may have, read from the JSON schema of its input: names that it does not know would vanish in
// silence where the schema lets them. Pure and total for any schema; where a schema leaves names open, every name is known.
import type { Json } from './canonical';
import { MAX_DEPTH } from './rules/binding';

type Members = { [name: string]: Json };
const isMembers = (value: Json | undefined): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);
const has = (value: Members, name: string): boolean => Object.prototype.hasOwnProperty.call(value, name);
/** Members that stand for a value from elsewhere. */
const STANDS = ['$secret', '$artifact', '$from'];
const POSITION = /^\d+$/;

/** The schemas under a name (or a position in a list); null where the schema leaves it open, an empty list where it knows none. */
function under(root: Json, schema: Json | undefined, name: string, depth = 0): Json[] | null {
  if (!isMembers(schema) || depth > MAX_DEPTH) return null;
  if (typeof schema['$ref'] === 'string') return under(root, resolved(root, schema['$ref']), name, depth + 1);
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((kind) => (Array.isArray(schema[kind]) ? schema[kind] : []));
  const found: Json[] = [];
  for (const part of parts) {
    const below = under(root, part, name, depth + 1);
    if (below === null) return null;
    found.push(...below);
  }
  const own = ownUnder(schema, name);
  if (own === null) return parts.length > 0 && !has(schema, 'properties') && !has(schema, 'items') ? found : null;
  return [...found, ...own];
}

function ownUnder(schema: Members, name: string): Json[] | null {
  const { properties, additionalProperties, items } = schema;
  if (POSITION.test(name) && items !== undefined) return Array.isArray(items) ? items.slice(Number(name), Number(name) + 1) : [items];
  if (isMembers(properties) && has(properties, name)) return [properties[name] as Json];
  if (has(schema, 'patternProperties') || (additionalProperties !== undefined && additionalProperties !== false)) return null;
  if (isMembers(properties) || additionalProperties === false) return [];
  const { type } = schema;
  // A text, a number and so on has no members; nothing said about it leaves everything open.
  return typeof type === 'string' && type !== 'object' && type !== 'array' ? [] : 'const' in schema || 'enum' in schema ? [] : null;
}

/** Of a reference such as `#/definitions/part`. */
function resolved(root: Json, ref: string): Json | undefined {
  let at: Json | undefined = root;
  for (const name of ref.replace(/^#\/?/, '').split('/').filter(Boolean)) at = isMembers(at) ? at[name.replace(/~1/g, '/').replace(/~0/g, '~')] : undefined;
  return at;
}

/** Does the schema know a member at this path? */
export function knowsPath(schema: Json, path: readonly string[]): boolean {
  let at: Json[] = [schema];
  for (const name of path) {
    const next: Json[] = [];
    for (const one of at) {
      const below = under(schema, one, name);
      if (below === null) return true;
      next.push(...below);
    }
    if (next.length === 0) return false;
    at = next;
  }
  return true;
}

/** Names, as paths, of members that the schema does not know; at most `most`. What stands for a value from elsewhere is not looked into. */
export function unknownMembers(schema: Json, args: Json, most = 5): string[] {
  const found: string[] = [];
  const look = (value: Json, path: string[]): void => {
    if (found.length >= most || path.length > MAX_DEPTH) return;
    if (path.length > 0 && !knowsPath(schema, path)) found.push(path.join('.'));
    else if (Array.isArray(value)) value.forEach((item, i) => look(item, [...path, String(i)]));
    else if (isMembers(value) && !STANDS.some((name) => has(value, name))) for (const [name, member] of Object.entries(value)) look(member, [...path, name]);
  };
  look(args, []);
  return found;
}

/** The names on the first level, for people; empty where they are open. */
export const topNames = (schema: Json): string[] => (isMembers(schema) && isMembers(schema['properties']) ? Object.keys(schema['properties']) : []);

/** The names on the first level that arguments need and do not have. None where the arguments as a whole come from elsewhere. */
export function lackingNames(schema: Json, args: Json): string[] {
  if (!isMembers(schema) || !isMembers(args) || STANDS.some((name) => has(args, name))) return [];
  const { required } = schema;
  return Array.isArray(required) ? required.filter((name): name is string => typeof name === 'string' && !has(args, name)) : [];
}
