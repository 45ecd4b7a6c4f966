// The other process of the contract suites: opens the store that it is told to, answers calls over the IPC channel, and
// runs a stream until it is killed. Ends when its parent lets go of the channel.
import { messageAt, rowFor } from './samples';
import type { PeerCall, PeerReply, PeerStream } from './peers';
import type { StorePorts } from './suite';

const say = (reply: PeerReply): void => void process.send!(reply);

type Method = (...values: unknown[]) => Promise<unknown>;

async function answer(stores: StorePorts, { id, port, method, values }: PeerCall): Promise<void> {
  try {
    const found = stores[port] as unknown as Record<string, Method>;
    say({ id, answer: await found[method]!(...values) });
  } catch (error) {
    say({ id, failed: error instanceof Error ? error.message : String(error) });
  }
}

/** Appends batch after batch and tells each version once it was acknowledged. */
async function appendAll({ journal }: StorePorts, runId: string, count: number): Promise<never> {
  const executionId = `peer ${process.pid}`;
  for (let version = (await journal.head(runId))!.version; ;) {
    const events = Array.from({ length: count }, (_, index) => messageAt(runId, version + 1 + index, 'x'.repeat(2_000)));
    const row = rowFor(runId, { status: 'running', version: version + count });
    const answered = await journal.append({ runId, epoch: 0, executionId, expectedVersion: version, events, row });
    if (answered.kind !== 'appended') throw new Error(`A lonely writer was answered ${answered.kind}.`);
    version = answered.version;
    say({ told: version });
  }
}

/** Writes artifact after artifact of random bytes and tells each id once it was acknowledged. */
async function writeAll({ artifacts }: StorePorts, count: number): Promise<never> {
  for (;;) {
    const bytes = Buffer.alloc(count, String(Math.random()));
    const { sha256 } = await artifacts.write(bytes, { mediaType: 'application/octet-stream', summary: 'random' });
    say({ told: sha256 });
  }
}

async function main(): Promise<void> {
  const [module, argument] = process.argv.slice(-2) as [string, string];
  const { open } = (await import(module)) as { open: (argument: string) => Promise<StorePorts> };
  const stores = await open(argument);
  process.on('message', (asked: PeerCall | PeerStream) => {
    if (!('stream' in asked)) void answer(stores, asked);
    else if (asked.stream === 'append') void appendAll(stores, asked.runId, asked.count);
    else void writeAll(stores, asked.count);
  });
  process.on('disconnect', () => void stores.close().then(() => process.exit(0)));
  say({ ready: true });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
