// Waits until a development server is usable: it answers, its namespace is there and every declared search attribute is
// registered (a database from an earlier declaration lacks new ones; they are added).
// Never starts or ends a process. An ended or a slow server is told in one sentence, with the log's last words.
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { openingRefusal, reason } from './probe';
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
      const words = options.lastWords?.() || 'it said nothing';
      throw new TemporalUnavailable('exited', `The Temporal server ended while it was starting: ${words}`);
    }
    const refused = await openingRefusal(options.address, 1_000);
    if (!refused) why = await whyNotUsable(options.address);
    if (!refused && !why) return;
    await sleep(50);
  }
  const where = options.logFile ? `; its log is ${options.logFile}` : '';
  const late = `was not ready after ${options.timeoutMs / 1000} s (${why})${where}`;
  throw new TemporalUnavailable('not-ready', `The Temporal server at ${options.address} ${late}.`);
}

/** Empty when the server is usable. */
async function whyNotUsable(address: string): Promise<string> {
  // Lazy, because a `Connection.connect` that fails leaves its channel open with nobody to close it.
  const connection = Connection.lazy({ address, connectTimeout: '2s' });
  try {
    await connection.ensureConnected();
    return await connection.withDeadline(Date.now() + 5_000, async () => {
      await connection.workflowService.describeNamespace({ namespace });
      await addMissingSearchAttributes(connection, namespace);
      const { missing, differing } = await checkSearchAttributes(connection, namespace);
      if (missing.length > 0) return `search attributes not yet registered: ${missing.map(({ name }) => name).join(', ')}`;
      if (differing.length > 0) return `search attributes of another type: ${differing.map(({ name }) => name).join(', ')}`;
      return '';
    });
  } catch (error) {
    return reason(error);
  } finally {
    await connection.close().catch(() => undefined);
  }
}
