// Collects artifacts that nothing refers to: no event, request, checkpoint or outcome of any run names them, none that stays mentions
// them, and they are too old to belong to a write that is under way. What a run that is open may still write down holds back whatever
// was written since its last event, unless Temporal says that nothing of it is under way. Removes nothing else.
import { seemsIdle } from '../../client/asleep';
import type { LonghaulClient } from '../../client/client';
import type { RunRow } from '../../core/row';
import type { ArtifactsPort } from '../../ports/artifacts';
import { nextAfter, type JournalPort } from '../../ports/journal';
import { reached } from './mentions';

/** Counts of artifacts, and bytes. Each artifact is in one of `named`, `mentioned`, `young`, `held` and `garbage`. */
export interface Garbage {
  artifacts: number; named: number; mentioned: number;
  /** Written less than the grace time ago. */
  young: number;
  /** Older than that, and perhaps of an open run that has something under way: `heldBy` is the one longest without an event. */
  held: number; heldBy: { runId: string; since: number } | null;
  garbage: number; bytes: number;
  /** 0 with `dryRun`. */
  removed: number;
}

export interface GarbageOptions { graceMs: number; dryRun: boolean; now?: number }

interface Stores { journal: JournalPort; artifacts: ArtifactsPort }

const OPEN: RunRow['status'][] = ['accepted', 'running', 'waiting', 'paused', 'blocked', 'cancelling'];
const PAGE = 500;
/** ms since its last event from which it is worth asking Temporal whether an open run has something under way. */
const QUIET_MS = 3_600_000;

/** Looks for garbage and, unless told not to, removes it. `client` is asked about open runs; where Temporal is away they hold. */
export async function collectGarbage({ journal, artifacts }: Stores, client: Pick<LonghaulClient, 'execution'>, { graceMs, dryRun, now = Date.now() }: GarbageOptions): Promise<Garbage> {
  const heldBy = await holder(journal, client, now);
  const young = now - graceMs;
  const cutoff = Math.min(young, heldBy === null ? Number.POSITIVE_INFINITY : heldBy.since - graceMs);
  const found: Garbage = { artifacts: 0, named: 0, mentioned: 0, young: 0, held: 0, heldBy: null, garbage: 0, bytes: 0, removed: 0 };
  const doubtful = new Map<string, number>();
  for await (const id of artifacts.list()) {
    const about = await artifacts.stat(id);
    if (!about) continue;
    found.artifacts += 1;
    if (await journal.isNamed(id)) found.named += 1;
    else if (about.writtenAt >= young) found.young += 1;
    else if (about.writtenAt >= cutoff) found.held += 1;
    else doubtful.set(id, about.bytes);
  }
  if (found.held > 0) found.heldBy = heldBy;
  const kept = doubtful.size === 0 ? new Set<string>() : await reached(artifacts, staying(artifacts, doubtful), new Set(doubtful.keys()));
  found.mentioned = kept.size;
  for (const [id, bytes] of doubtful) {
    if (kept.has(id)) continue;
    found.garbage += 1;
    found.bytes += bytes;
    // Asked again at the last moment: an event may have come since.
    if (!dryRun && !await journal.isNamed(id) && await artifacts.remove(id, cutoff) === 'removed') found.removed += 1;
  }
  return found;
}

async function* staying(artifacts: ArtifactsPort, doubtful: ReadonlyMap<string, number>): AsyncGenerator<string> {
  for await (const id of artifacts.list()) if (!doubtful.has(id)) yield id;
}

/** The open run that has been without an event for longest, among those that may have something under way. */
async function holder(journal: JournalPort, client: Pick<LonghaulClient, 'execution'>, now: number): Promise<{ runId: string; since: number } | null> {
  let oldest: { runId: string; since: number } | null = null;
  for (let page: RunRow[] | undefined; page === undefined || page.length === PAGE;) {
    page = await journal.list({ status: OPEN, limit: PAGE, ...nextAfter(page) });
    for (const row of page) {
      if (oldest !== null && row.updatedAt >= oldest.since) continue;
      const waits = now - row.updatedAt > QUIET_MS && await client.execution(row.runId).then((view) => seemsIdle(row, view, now), () => false);
      if (!waits) oldest = { runId: row.runId, since: row.updatedAt };
    }
  }
  return oldest;
}
