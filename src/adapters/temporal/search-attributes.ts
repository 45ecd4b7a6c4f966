// Compares the search attributes that a server knows with the declared ones, and registers those that are missing.
// A run that sets an unknown search attribute fails its workflow task for ever, so this is checked before a worker polls.
// Never changes or removes an attribute: one that exists with another type is reported, since only a person can decide.
import type { Connection } from '@temporalio/client';
import { declaredSearchAttributes, type SearchAttribute } from './dev-file';

/** Temporal's numbers for the types (temporal.api.enums.v1.IndexedValueType), by the command line's names. */
const typeNumbers: Record<string, number> = { Text: 1, Keyword: 2, Int: 3, Double: 4, Bool: 5, Datetime: 6, KeywordList: 7 };

export interface SearchAttributeCheck {
  /** Declared, not known to the server. */
  missing: SearchAttribute[];
  /** Known to the server with another type than declared. */
  differing: SearchAttribute[];
}

/** gRPC's number for an operation that a server does not have. */
const UNIMPLEMENTED = 12;

/**
 * What the server lacks of the declared search attributes in this namespace: all of them, where it cannot say (the time-skipping test
 * server). Throws what the connection throws.
 */
export async function checkSearchAttributes(
  connection: Connection,
  namespace: string,
  declared: SearchAttribute[] = declaredSearchAttributes(),
): Promise<SearchAttributeCheck> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace }).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === UNIMPLEMENTED) return { customAttributes: {} };
    throw error;
  });
  const known = new Map(Object.entries(customAttributes ?? {}).map(([name, type]) => [name, Number(type)]));
  return {
    missing: declared.filter(({ name }) => !known.has(name)),
    differing: declared.filter(({ name, type }) => known.has(name) && known.get(name) !== typeNumbers[type]),
  };
}

/** Registers what is missing and returns it; a server may need some seconds until it accepts them in a start. */
export async function addMissingSearchAttributes(
  connection: Connection,
  namespace: string,
  declared: SearchAttribute[] = declaredSearchAttributes(),
): Promise<SearchAttribute[]> {
  const { missing } = await checkSearchAttributes(connection, namespace, declared);
  if (missing.length === 0) return [];
  const searchAttributes = Object.fromEntries(missing.map(({ name, type }) => [name, typeNumbers[type] ?? 0]));
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  return missing;
}
