// `longhaul replay RUN|FILE`: folds a journal with its recorded results, with no server, no model and no tool, and compares every
// checkpoint. Exit 1 names the event that does not fit.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { chainStart } from '../../core/chain';
import type { RunEvent } from '../../core/events';
import { statusOf } from '../../core/summary';
import { EXPORT_FORMAT, type ExportLine } from '../../client/export';
import type { CheckpointRow } from '../../ports/journal';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { reading, type CommonOptions } from '../options';
import type { Place } from '../place';
import { count, data, json, say } from '../print';
import { judgeJournal, type Judgement, type ReplayedEvent } from '../verify-journal';

async function replay(place: Place, what: string, options: CommonOptions): Promise<number> {
  const judged = existsSync(what) && statSync(what).isFile() ? await replayFile(what) : await replayRun(place, what);
  const { ok, runId, events, checkpoints, digest, state, fault } = judged;
  if (options.json) json({ ok, runId, events, checkpoints, status: statusOf(state), digest, ...(fault ? { fault } : {}) });
  else if (ok) data(`${runId}: ${count(events, 'event')} folded, ${count(checkpoints, 'checkpoint')} byte-equal, status ${statusOf(state)}, state ${digest}`);
  if (fault) say(fault.type === 'end' ? `${runId}: ${fault.why}.` : `${runId}: event ${fault.seq} (${fault.type}) does not fit: ${fault.why}.`);
  return ok ? EXIT.done : EXIT.error;
}

async function replayRun(place: Place, runId: string): Promise<Judgement> {
  const { journal } = await place.stores();
  const client = await place.client();
  const { row } = await client.show(runId).catch((error: unknown) => {
    if ((error as { code?: string }).code !== 'unknown-run') throw error;
    throw new Stop(EXIT.error, `There is neither a file nor a run called ${what(runId)}: see \`npx longhaul runs list\`.`);
  });
  const judged = await judgeJournal(runId, plain(client.events(runId)), await journal.checkpoints(runId));
  if (judged.ok && (judged.events !== row.version || statusOf(judged.state) !== row.status) && row.version > 0) {
    return { ...judged, ok: false, fault: { seq: judged.events, type: 'end', why: `the list row says ${row.status} at ${row.version}, and the events say ${statusOf(judged.state)} at ${judged.events}` } };
  }
  return judged;
}

const what = (text: string): string => JSON.stringify(text).slice(0, 100);

async function* plain(events: AsyncIterable<RunEvent>): AsyncGenerator<ReplayedEvent> {
  for await (const event of events) yield { event };
}

async function replayFile(file: string): Promise<Judgement> {
  const lines = linesOf(file)[Symbol.asyncIterator]();
  const first = await lines.next();
  const header = first.done ? undefined : first.value;
  if (header?.kind !== 'header' || header.format !== EXPORT_FORMAT || header.v !== 1) throw new Stop(EXIT.error, `${file} is no export of a run: make one with \`npx longhaul runs export RUN --out FILE\`.`);
  const end: { line?: Extract<ExportLine, { kind: 'end' }>; chain: string; events: number } = { chain: chainStart(header.runId), events: 0 };
  const judged = await judgeJournal(header.runId, exported(lines, end), header.checkpoints as CheckpointRow[]);
  if (!judged.ok) return judged;
  const why = !end.line ? 'the file is cut off: its last line is missing' : end.line.events !== end.events || end.line.chain !== end.chain ? `its last line counts ${count(end.line.events, 'event')}, and ${end.events} are there` : null;
  return why === null ? judged : { ...judged, ok: false, fault: { seq: end.events, type: 'end', why } };
}

async function* exported(lines: AsyncIterator<ExportLine>, end: { line?: Extract<ExportLine, { kind: 'end' }>; chain: string; events: number }): AsyncGenerator<ReplayedEvent> {
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    const line = next.value;
    if (line.kind === 'end') end.line = line;
    if (line.kind !== 'event') continue;
    end.events += 1;
    end.chain = line.chain;
    yield { event: line.event, chain: line.chain };
  }
}

async function* linesOf(file: string): AsyncGenerator<ExportLine> {
  let number = 0;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    number += 1;
    if (text.trim() === '') continue;
    try {
      yield JSON.parse(text) as ExportLine;
    } catch {
      throw new Stop(EXIT.error, `Line ${number} of ${file} is not JSON: the file is damaged, or no export of a run.`);
    }
  }
}

/** Adds `replay`. */
export function addReplay(program: Command): void {
  reading(program.command('replay').argument('<run-or-file>').description('fold a journal offline and compare every checkpoint; exit 1 names the event that does not fit'))
    .action(act(replay, ([, options]) => options));
}
