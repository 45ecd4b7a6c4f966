// The client's way to Temporal: one connection, opened when it is first needed, and the names of its failures.
// Nothing outside this file looks into errors of the SDK.
import { Client, isGrpcServiceError, WorkflowUpdateFailedError, type ConnectionLike } from '@temporalio/client';
import { ApplicationFailure, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/common';
import { TASK_QUEUE } from '../messages';
import { ClientError, type ClientOptions } from './types';

export interface Temporal { client: Client; connection: ConnectionLike; taskQueue: string }

/** Opens the connection at the first call; later calls share it. Throws ClientError `no-connection` or `unreachable`. */
export function temporalOf(options: ClientOptions): () => Promise<Temporal> {
  let opened: Promise<Temporal> | undefined;
  const open = async (): Promise<Temporal> => {
    if (options.connection === undefined) throw new ClientError('no-connection', 'This client was made without a connection to Temporal: it can only read.');
    const connection = typeof options.connection === 'function' ? await options.connection() : options.connection;
    return { connection, client: new Client({ connection, namespace: options.namespace ?? 'default' }), taskQueue: options.taskQueue ?? TASK_QUEUE };
  };
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}

export const isAlreadyStarted = (error: unknown): boolean => error instanceof WorkflowExecutionAlreadyStartedError;
export const isNotFound = (error: unknown): boolean => error instanceof WorkflowNotFoundError;

/** The sentence of a validator that refused an Update; null for every other failure. */
export function refusalOf(error: unknown): string | null {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) return null;
  return error.cause.type === 'TypeError' ? error.cause.message : null;
}

/** gRPC UNAVAILABLE: nobody answers at the address. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof ClientError) return error.code === 'unreachable';
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (isGrpcServiceError(at) && at.code === 14) return true;
  }
  return false;
}

/** An error as one line. */
export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ').slice(0, 300);
