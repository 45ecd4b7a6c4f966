// Metrics of a worker on a Prometheus endpoint: the SDK's own, and a few of ours, read from the stores now and then. Every worker on
// one set of stores tells the same numbers of it: take the maximum over workers, not the sum. Never holds a worker up: a look
// that fails is left out, and counted.
import { createServer } from 'node:net';
import type { MetricMeter } from '@temporalio/common';
import type { JournalPort } from '../../ports/journal';
import type { LedgerPort } from '../../ports/ledger';

/** ms between two looks at the stores. */
const EVERY_MS = 15_000;
/** Open runs that are looked at; with more, the numbers say at least this many. */
const MOST_RUNS = 10_000;
const OPEN = ['accepted', 'running', 'waiting', 'paused', 'blocked', 'cancelling'] as const;

/** `host:port` of a metrics endpoint, found free. Throws with one sentence. */
export async function metricsAddress(text: string): Promise<string> {
  const [, host = '', port = ''] = /^(\[[0-9a-fA-F:]+\]|[^:\s]+):(\d{1,5})$/.exec(text.trim()) ?? [];
  if (host === '' || Number(port) < 1 || Number(port) > 65_535) throw new Error(`The address for metrics is ${JSON.stringify(text)}: write host:port, e.g. 127.0.0.1:9464.`);
  // The SDK only logs that it could not bind, and the endpoint would be somebody else's.
  await new Promise<void>((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => reject(new Error(`Metrics cannot be served at ${text} (${error.code ?? 'it failed'}): name a free port with --metrics or LONGHAUL_METRICS.`)));
    probe.listen(Number(port), host.replace(/^\[|\]$/g, ''), () => probe.close(() => resolve()));
  });
  return text.trim();
}

export interface Gauges { /** Resolves when the first look is over. */ first: Promise<void>; stop(): void }

/** Keeps our gauges: open runs by status, open waits by kind (`decision`: an effect of which nobody knows), claims without an outcome. */
export function startGauges({ journal, ledger }: { journal: JournalPort; ledger: LedgerPort }, meter: MetricMeter, everyMs = EVERY_MS): Gauges {
  const runs = series(meter, 'longhaul_open_runs', 'open runs by status', 'status');
  const waits = series(meter, 'longhaul_open_waits', 'what open runs wait for, by kind', 'kind');
  const claims = series(meter, 'longhaul_open_claims', 'calls that were claimed and have no outcome yet, by state', 'state');
  const failed = meter.createCounter('longhaul_metrics_failed_looks', '1', 'looks at the stores for these numbers that failed');
  failed.add(0);
  const look = async (): Promise<void> => {
    try {
      const open = await journal.list({ status: [...OPEN], limit: MOST_RUNS });
      runs(open.map(({ status }) => status));
      waits(open.flatMap((row) => row.waits.map(({ kind }) => kind)));
      claims((await ledger.open()).map(({ state }) => state));
    } catch {
      failed.add(1);
    }
  };
  const first = look();
  const timer = setInterval(() => void look(), everyMs);
  timer.unref();
  return { first, stop: () => clearInterval(timer) };
}

/** Sets one gauge by label from a list of its labels; one that came up before and does not now is set to 0. */
function series(meter: MetricMeter, name: string, description: string, label: string): (all: readonly string[]) => void {
  const gauge = meter.createGauge(name, 'int', '1', description);
  const known = new Set<string>();
  return (all) => {
    for (const one of all) known.add(one);
    for (const one of known) gauge.set(all.filter((other) => other === one).length, { [label]: one });
  };
}
