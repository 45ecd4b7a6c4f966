// Asks whether a Temporal server answers at an address, with short time-outs: first a bare TCP connection, since the
// gRPC client backs off for a second or more after a refused one, then the server's own calls.
// Never starts anything and never writes; a failure is a value (the reason in a few words), not a throw.
import { connect } from 'node:net';
import { Connection, type ConnectionOptions } from '@temporalio/client';

/**
 * Undefined when the server answers and knows the namespace; else why not, in a few words.
 * `timeoutMs` bounds each of the two stages.
 */
export async function whyUnreachable(options: ConnectionOptions, namespace: string, timeoutMs: number): Promise<string | undefined> {
  const refused = await tcpRefusal(options.address ?? '', timeoutMs);
  if (refused) return refused;
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ ...options, connectTimeout: timeoutMs });
    const service = connection.workflowService;
    await connection.withDeadline(Date.now() + timeoutMs, () => service.describeNamespace({ namespace }));
    return undefined;
  } catch (error) {
    return ((error as Error).message ?? String(error)).replace(/\s+/g, ' ').slice(0, 200);
  } finally {
    await connection?.close().catch(() => undefined);
  }
}

/** Undefined when something accepts TCP connections at `host:port`; else the reason. */
export function tcpRefusal(address: string, timeoutMs: number): Promise<string | undefined> {
  const match = /^(?:[a-z]+:\/\/)?\[?([^\]/]+?)\]?(?::(\d+))?\/?$/i.exec(address);
  if (!match?.[1]) return Promise.resolve(`"${address}" is not an address of the form host:port`);
  const socket = connect({ host: match[1], port: Number(match[2] ?? 7233) });
  return new Promise((resolve) => {
    const end = (reason?: string) => {
      socket.destroy();
      resolve(reason);
    };
    socket.setTimeout(timeoutMs, () => end('no answer in time'));
    socket.once('connect', () => end());
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED' ? 'nothing listens there' : (error.code ?? error.message)));
  });
}
