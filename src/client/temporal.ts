// The client's way to Temporal: one connection, opened when it is first needed, and the names of its failures.
// The SDK is loaded with the connection, since reading needs none of it; so its errors are told by their names.
// Nothing outside this file looks into errors of the SDK.
import type { Client, ConnectionLike } from '@temporalio/client';
import { TASK_QUEUE } from '../messages';
import { ClientError, type ClientOptions, type PayloadEncryption } from './types';

export interface Temporal { client: Client; connection: ConnectionLike; taskQueue: string; encryption: PayloadEncryption }

/** Nothing is encrypted, and nothing that is can be read. */
const PLAIN: PayloadEncryption = { dataConverter: {}, holds: () => false };

/** Opens the connection at the first call; later calls share it. Throws ClientError `no-connection` or `unreachable`. */
export function temporalOf(options: ClientOptions): () => Promise<Temporal> {
  let opened: Promise<Temporal> | undefined;
  const open = async (): Promise<Temporal> => {
    if (options.connection === undefined) throw new ClientError('no-connection', 'This client was made without a connection to Temporal: it can only read.');
    const connection = typeof options.connection === 'function' ? await options.connection() : options.connection;
    const sdk = await import('@temporalio/client');
    const namespace = typeof options.namespace === 'function' ? await options.namespace() : options.namespace ?? 'default';
    const encryption = (typeof options.encryption === 'function' ? await options.encryption() : options.encryption) ?? PLAIN;
    return { connection, encryption, client: new sdk.Client({ connection, namespace, dataConverter: encryption.dataConverter }), taskQueue: options.taskQueue ?? TASK_QUEUE };
  };
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}

const named = (error: unknown, name: string): error is Error => error instanceof Error && error.name === name;

export const isAlreadyStarted = (error: unknown): boolean => named(error, 'WorkflowExecutionAlreadyStartedError');
/** The SDK's own error, or gRPC NOT_FOUND, which some of its calls hand on as it is. */
export const isNotFound = (error: unknown): boolean => named(error, 'WorkflowNotFoundError') || hasCode(error, 5);

/** The sentence of a validator that refused an Update; null for every other failure. */
export function refusalOf(error: unknown): string | null {
  if (!named(error, 'WorkflowUpdateFailedError') || !named(error.cause, 'ApplicationFailure')) return null;
  return (error.cause as Error & { type?: string | null }).type === 'TypeError' ? error.cause.message : null;
}

/** gRPC UNAVAILABLE: nobody answers at the address. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof ClientError) return error.code === 'unreachable';
  return hasCode(error, 14);
}

/** Is the error, or one that caused it, gRPC's with this code? */
function hasCode(error: unknown, code: number): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ((at as { code?: unknown }).code === code && 'details' in at) return true;
  }
  return false;
}

/** An error as one line. */
export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ').slice(0, 300);
