// Asks whether a Temporal server answers at an address, with short time-outs: first the bare opening of HTTP/2, then the
// server's own calls. The opening comes first because the gRPC client backs off for a second or more after a refused
// connection, and keeps the process alive for good after one that was accepted and never answered.
// Never starts anything and never writes; a failure is a value (the reason in a few words), not a throw.
import { connect } from 'node:net';
import { Connection, type ConnectionOptions } from '@temporalio/client';

/**
 * Undefined when the server answers and knows the namespace; else why not, in a few words.
 * `timeoutMs` bounds each of the two stages.
 */
export async function whyUnreachable(options: ConnectionOptions, namespace: string, timeoutMs: number): Promise<string | undefined> {
  const plain = !options.tls && !options.apiKey;
  const refused = await openingRefusal(options.address ?? '', timeoutMs, plain);
  if (refused) return refused;
  // Lazy, because a `Connection.connect` that fails leaves its channel open with nobody to close it.
  const connection = Connection.lazy({ ...options, connectTimeout: timeoutMs });
  try {
    await connection.ensureConnected();
    const service = connection.workflowService;
    await connection.withDeadline(Date.now() + timeoutMs, () => service.describeNamespace({ namespace }));
    return undefined;
  } catch (error) {
    return reason(error);
  } finally {
    await connection.close().catch(() => undefined);
  }
}

/** The words of an error in one short line. */
export function reason(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { details?: string } };
  return (cause?.details || message || String(error)).replace(/\s+/g, ' ').slice(0, 200);
}

/** The client's side of the opening of HTTP/2 (RFC 9113, 3.4): the preface and an empty SETTINGS frame. */
const opening = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]);

/**
 * Undefined when `host:port` accepts connections and, if `plain` (no TLS), answers the opening of HTTP/2 with its own
 * SETTINGS; else the reason in a few words.
 */
export function openingRefusal(address: string, timeoutMs: number, plain = true): Promise<string | undefined> {
  const match = /^(?:[a-z]+:\/\/)?\[?([^\]/]+?)\]?(?::(\d+))?\/?$/i.exec(address);
  if (!match?.[1]) return Promise.resolve(`"${address}" is not an address of the form host:port`);
  const socket = connect({ host: match[1], port: Number(match[2] ?? 7233) });
  const deadline = setTimeout(() => socket.emit('timeout'), timeoutMs);
  return new Promise((resolve) => {
    const end = (why?: string) => {
      clearTimeout(deadline);
      socket.destroy();
      resolve(why);
    };
    socket.once('timeout', () => end('no answer in time'));
    socket.once('connect', () => (plain ? socket.write(opening) : end()));
    socket.once('data', (bytes) => end(bytes[3] === 4 ? undefined : 'something else listens there'));
    socket.once('end', () => end('the connection was closed at once'));
    socket.once('error', ({ code, message }: NodeJS.ErrnoException) => end(code === 'ECONNREFUSED' ? 'nothing listens there' : (code ?? message)));
  });
}
