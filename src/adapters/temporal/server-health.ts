// Waits until a development server is usable: it answers, its namespace is there and every declared search attribute is
// registered (a database from an earlier declaration lacks new ones; they are added).
// Never starts or ends a process. An ended or a slow server is told in one sentence, with the log's last words.
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { tcpRefusal } from './probe';
import { addMissingSearchAttributes, checkSearchAttributes } from './search-attributes';
import { TemporalUnavailable } from './unavailable';

export interface HealthOptions {
  address: string;
  timeoutMs: number;
  isAlive: () => boolean;
  lastWords?: () => string;
  logFile?: string;
}

const namespace = 'default';

/** Resolves when the server is usable. Throws TemporalUnavailable (`exited` or `not-ready`). */
export async function waitUntilHealthy(options: HealthOptions): Promise<void> {
  const deadline = Date.now() + options.timeoutMs;
  let why = 'it does not answer';
  while (Date.now() < deadline) {
    if (!options.isAlive()) {
      throw new TemporalUnavailable('exited', `The Temporal server ended while it was starting: ${options.lastWords?.() || 'it said nothing'}`);
    }
    const refused = await tcpRefusal(options.address, 1_000);
    if (!refused) why = await whyNotUsable(options.address);
    if (!refused && !why) return;
    await sleep(50);
  }
  const where = options.logFile ? `; its log is ${options.logFile}` : '';
  throw new TemporalUnavailable('not-ready', `The Temporal server at ${options.address} was not ready after ${options.timeoutMs / 1000} s (${why})${where}.`);
}

/** Empty when the server is usable. */
async function whyNotUsable(address: string): Promise<string> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: '2s' });
    const open = connection;
    return await open.withDeadline(Date.now() + 5_000, async () => {
      await open.workflowService.describeNamespace({ namespace });
      await addMissingSearchAttributes(open, namespace);
      const { missing, differing } = await checkSearchAttributes(open, namespace);
      if (missing.length > 0) return `search attributes not yet registered: ${missing.map(({ name }) => name).join(', ')}`;
      if (differing.length > 0) return `search attributes of another type: ${differing.map(({ name }) => name).join(', ')}`;
      return '';
    });
  } catch (error) {
    return (error as Error).message ?? String(error);
  } finally {
    await connection?.close().catch(() => undefined);
  }
}
