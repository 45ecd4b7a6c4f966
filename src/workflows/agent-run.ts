// The workflow of every run. Handlers first; then one path for start, restore, reset and continue-as-new: open the journal,
// then turns of the pump until the run is over (I5). Runs in one non-cancellable scope: a cancel is a command like others.
// Holds no state of the run: the pump does, and the journal before it.
import { allHandlersFinished, ApplicationFailure, CancellationScope, CancelledFailure, condition, workflowInfo } from '@temporalio/workflow';
import type { OpenAnswer } from '../activities/types';
import { canonical } from '../core/canonical';
import { entryOf, isOver } from '../core/lookups';
import type { RunInput } from '../core/run';
import type { State } from '../core/state';
import { pageOf } from '../core/summary';
import { Display } from './display';
import { patient } from './hands';
import { registerHandlers, type Desk } from './handlers';
import { Inbox } from './inbox';
import { open, stateOf } from './journal';
import { tellParent } from './parent';
import { Pump } from './pump';
import { Flights } from './reconcile';
import { Rolling } from './rolling';

/** What the workflow returns; a failed run throws `RunFailed`, a cancelled one ends as Canceled. */
export type RunEnd =
  | { status: 'completed'; outcome: 'full' | 'partial' | null; summary: string }
  /** A newer epoch of the run goes on in another execution. */
  | { status: 'superseded' };

export async function agentRun(input: RunInput): Promise<RunEnd> {
  const inbox = new Inbox();
  const desk: Desk = { full: () => false, woken: false, look: () => null, toolOf: () => null };
  const native = registerHandlers(input.runId, inbox, desk);
  return CancellationScope.nonCancellable(() => conduct(input, inbox, desk, native));
}

async function conduct(input: RunInput, inbox: Inbox, desk: Desk, native: { cancelled: boolean }): Promise<RunEnd> {
  const opened = await open(input);
  if (opened.kind === 'refused') throw bare(ApplicationFailure.nonRetryable(opened.why, 'RunRefused'));
  const flights = new Flights(input, (command, needId) => void inbox.submit(command, needId));
  const pump = new Pump(input, inbox, flights, await stateOf(input.runId, opened));
  if (opened.kind === 'superseded') return leave(pump);
  begin(input, inbox, opened, pump.state);

  const display = new Display(opened.worker.searchAttributes);
  const rolling = new Rolling(opened.worker.limits, inbox, flights);
  desk.full = () => rolling.full();
  desk.toolOf = (approvalId) => entryOf(pump.state.approvals, approvalId)?.binding ?? null;
  desk.look = () => ({ version: pump.state.version, canonical: canonical(pump.state), page: pageOf(pump.state) });

  let asked = false;
  let told = false;
  for (;;) {
    if (inbox.open) await inbox.settled();
    if (desk.woken) {
      desk.woken = false;
      await pump.follow();
    }
    await pump.rest();
    const turned = await pump.turn((answered) => rolling.hold(pump.state, answered));
    if (turned.verdict === 'superseded') return leave(pump);
    display.show(pump.state);
    if (isOver(pump.state)) {
      const cancelled = pump.state.end?.status === 'cancelled';
      if (cancelled && !native.cancelled && !asked) void patient.cancelSelf();
      if (!asked && pump.state.parent) void tellParent(pump.state).then(() => { told = true; });
      asked = true;
      await condition(() => inbox.length > 0 || (allHandlersFinished() && (native.cancelled || !cancelled) && (told || !pump.state.parent)));
      if (inbox.length === 0) return conclude(pump.state);
    } else {
      await rolling.after(input, pump.state, turned);
      await condition(() => inbox.length > 0 || desk.woken);
    }
  }
}

/** The commands that open a generation, where some are needed: what a newer law or schema makes of the run comes first. */
function begin(input: RunInput, inbox: Inbox, opened: OpenAnswer, state: State): void {
  if (opened.kind === 'fresh') inbox.begin({ type: 'Start', runId: input.runId, epoch: input.epoch, fresh: opened.fresh });
  else if (opened.kind === 'restored' && opened.fork) inbox.begin({ type: 'Fork', order: opened.fork });
  else if (input.epoch > state.epoch) inbox.begin({ type: 'Restore', epoch: input.epoch, executionId: workflowInfo().runId, why: 'The run was restored in a new execution.' });
  if (opened.kind === 'restored' && opened.migrate) inbox.begin({ type: 'Migrate', migration: opened.migrate });
}

async function leave(pump: Pump): Promise<RunEnd> {
  pump.dismiss();
  await condition(allHandlersFinished);
  return { status: 'superseded' };
}

function conclude({ end }: State): RunEnd {
  if (end?.status === 'failed') throw bare(ApplicationFailure.nonRetryable(end.failure?.message ?? end.summary, 'RunFailed'));
  if (end?.status === 'cancelled') throw bare(new CancelledFailure(end.summary));
  return { status: 'completed', outcome: end?.outcome ?? null, summary: end?.summary ?? '' };
}

/**
 * Without its stack: that names files of the worker's machine, and would stand in history. Half a character in its words, as a cut may
 * leave one, would not pass as UTF-8: the SDK would end the worker over it, and each worker that tries next.
 */
function bare<E extends Error>(error: E): E {
  error.stack = '';
  error.message = error.message.replaceAll(/\p{Surrogate}/gu, '\ufffd');
  return error;
}
