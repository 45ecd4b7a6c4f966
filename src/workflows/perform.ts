// From a need to the one command that answers it: starts the activity or timer of the need in the current scope.
// Never throws for what the world does; a cancelled timer answers nothing. Owns no state.
import { CancelledFailure, sleep } from '@temporalio/workflow';
import type { Command } from '../core/commands';
import type { RunInput } from '../core/run';
import { toWire, type Wire } from '../core/wire';
import type { CallNeed, CollectNeed, GateNeed, ModelNeed, Need, PrepareNeed, TimerNeed } from '../core/world';
import { looking, once, patient, quickOnce, saving } from './hands';
import { callOutcome, checkpointOutcome, modelOutcome, prepareOutcome } from './outcomes';

/** Runs one need to its end; null when it needs no answer any more. A timer waits `leastMs` even when its time has come. */
export function perform(input: RunInput, need: Need, leastMs = 0): Promise<Command | null> {
  switch (need.kind) {
    case 'timer': return timer(need, leastMs);
    case 'model': return model(input, need);
    case 'prepare': return prepare(input, need);
    case 'call': return call(input, need);
    case 'gate': return gate(input, need);
    case 'collect': return collect(input.runId, need);
    case 'checkpoint': return checkpoint(input.runId, need.version, need.summary);
  }
}

async function timer(need: TimerNeed, leastMs: number): Promise<Command | null> {
  const command: Command = { type: 'TimerFired', name: need.name, dueAt: need.dueAt };
  const left = Math.max(need.dueAt - Date.now(), leastMs);
  if (left <= 0) return command;
  try {
    await sleep(left, { summary: need.summary });
    return command;
  } catch (error) {
    if (error instanceof CancelledFailure) return null;
    throw error;
  }
}

async function model(input: RunInput, need: ModelNeed): Promise<Command> {
  const result = await once.model.executeWithOptions({ summary: need.summary }, [toWire(input, need)]).catch(modelOutcome);
  return { type: 'ModelReturned', callId: need.callId, attempt: need.attempt, result };
}

async function prepare(input: RunInput, need: PrepareNeed): Promise<Command> {
  const args: [Wire<PrepareNeed>] = [toWire(input, need)];
  const attempt = need.local
    ? quickOnce.prepare.executeWithOptions({ summary: need.summary }, args)
    : once.prepare.executeWithOptions({ summary: need.summary, startToCloseTimeout: '2m' }, args);
  return { type: 'PrepareReturned', stepId: need.stepId, n: need.n, result: await attempt.catch(prepareOutcome) };
}

async function call(input: RunInput, need: CallNeed): Promise<Command> {
  // The call's own time-out ends it first; Temporal's comes a minute later, so that the hands can still say what they know.
  const options = { summary: need.summary, startToCloseTimeout: need.timeoutMs + 60_000 };
  const result = await once.call.executeWithOptions(options, [toWire(input, need)]).catch((error: unknown) => callOutcome(error, need.effect));
  return { type: 'CallReturned', callId: need.callId, attempt: need.attempt, result };
}

async function gate(input: RunInput, need: GateNeed): Promise<Command | null> {
  try {
    const evidence = await looking.gate.executeWithOptions({ summary: need.summary }, [toWire(input, need)]);
    return { type: 'GateReturned', callId: need.callId, n: need.n, evidence };
  } catch {
    // It is retried without end, so only a cancel leads here: there is no evidence, and nobody needs it any more.
    return null;
  }
}

async function collect(runId: string, { callbackId, since, count, expect, child, n, summary }: CollectNeed): Promise<Command | null> {
  try {
    return { type: 'CollectReturned', callbackId, ...(n === undefined ? {} : { n }), result: await patient.collect.executeWithOptions({ summary }, [{ runId, callbackId, since, count, expect, ...(child === undefined ? {} : { child }) }]) };
  } catch {
    // It is retried without end, so only a cancel leads here.
    return null;
  }
}

/** Asks for a checkpoint of what the journal holds up to `version`. */
export async function checkpoint(runId: string, version: number, summary: string): Promise<Command> {
  const result = await saving.checkpoint.executeWithOptions({ summary }, [{ runId, version }]).catch(checkpointOutcome);
  return { type: 'CheckpointReturned', result };
}
