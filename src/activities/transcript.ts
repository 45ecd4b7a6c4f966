// What a model has seen and done so far in a run: its earlier answers, what came of each call, and what people said in between.
// The shape, and how one event after the other adds to it. Pure; read-transcript.ts reads the events, assemble.ts renders.
import type { Json } from '../core/canonical';
import type { EventData, RunEvent } from '../core/events';
import type { Failure } from '../core/failure';
import type { StepOutline } from '../core/plan';
import type { Output } from '../core/run';

/** A call of a tool as the model made it. `steps` are the steps that came of it, `error` why none did. */
export interface MadeCall { id: string; tool: string; args: Json; steps: string[]; error?: string }

/** A model's answer as it is stored, whole: `ModelCallSucceeded.output` of purpose `plan`. */
export interface StoredAnswer { v: 1; text: string; finish: string; calls: MadeCall[] }

/** How a step stands at the transcript's version. */
export type StepEnd =
  /** `sent`: a call of it may have taken effect, and nobody knows yet. */
  | { is: 'open'; sent?: true } | { is: 'dropped' }
  /** `said`: by a person or the outside, whose word a reference is; nothing here has seen its bytes. */
  | { is: 'done'; output: Output; said?: true }
  | { is: 'failed'; failure: Failure }
  | { is: 'skipped'; why: string };

/** One answer of the model, with what followed it. `accepted`: steps of it that became part of the plan; null when nothing of it did. */
export interface Turn { callId: string; answer: StoredAnswer; accepted: ReadonlySet<string> | null; reasons: string[]; notes: string[] }

export interface Transcript {
  created: EventData['RunCreated'];
  goal: string;
  /** Steps that no model made: those of a declared plan. */
  declared: StepOutline[];
  steps: Map<string, StepEnd>;
  /** Steps whose arguments a person changed before the call was made. */
  edited: Map<string, { by: string; tool: string; args: Output }>;
  /** The newest answers, at most `MAX_TURNS`. */
  turns: Turn[];
  /** How many answers came before those. */
  olderTurns: number;
  /** What people said before the first of `turns`; of a long run the newest. */
  notes: string[];
}

/** Turns that are loaded at all; no input has room for more, and a run may have thousands. */
export const MAX_TURNS = 200;

/** While it is read: the answers are loaded at the end, and sets still grow. */
export interface Reading extends Omit<Transcript, 'created' | 'turns' | 'olderTurns'> {
  created: EventData['RunCreated'] | null;
  turns: { callId: string; output?: Output; text: string; accepted: Set<string> | null; reasons: string[]; notes: string[] }[];
  planCalls: Set<string>;
  /** Steps by the calls that were requested for them. */
  calls: Map<string, string>;
  /** Ids of artifacts that people and the outside have named as what they say. */
  said: Set<string>;
  messages: { text: Output; actor: string; notes: string[]; at: number }[];
  /** Answers that were left unread. */
  unread: number;
}

export function take(to: Reading, event: RunEvent): void {
  switch (event.type) {
    case 'RunCreated': to.created = event.data; return;
    case 'ModelCallRequested': if (event.data.purpose === 'plan') to.planCalls.add(event.data.callId); return;
    case 'ModelCallSucceeded': {
      const { callId, output, text } = event.data;
      if (to.planCalls.has(callId)) to.turns.push({ callId, text: text ?? '', accepted: null, reasons: [], notes: [], ...(output ? { output } : {}) });
      return;
    }
    case 'PlanAccepted': return accept(to, event.data);
    case 'PlanRejected': {
      const turn = turnBy(to, event.data.by);
      if (turn) turn.reasons.push(...event.data.reasons);
      else notesOf(to).push(`The plan was refused: ${event.data.reasons.join(' ')}`);
      return;
    }
    case 'CallPrepared': return prepared(to, event.data);
    case 'ToolCallRequested': return sent(to, event.data);
    case 'ToolCallUnknown': return unknown(to, event.data.callId, true);
    case 'ToolCallPending': return unknown(to, event.data.callId, false);
    case 'QuestionAnswered': return named(to, event.data.answer);
    case 'CallbackReceived': return named(to, event.data.payload);
    case 'StepCompleted': {
      const { stepId, output } = event.data;
      to.steps.set(stepId, { is: 'done', output, ...('ref' in output && to.said.has(output.ref.sha256) ? { said: true } : {}) });
      return;
    }
    case 'StepFailed': to.steps.set(event.data.stepId, { is: 'failed', failure: event.data.failure }); return;
    case 'StepSkipped': to.steps.set(event.data.stepId, { is: 'skipped', why: event.data.why }); return;
    case 'UserMessageReceived': {
      const notes = notesOf(to);
      to.messages.push({ text: event.data.text, actor: event.actor.id, notes, at: notes.length });
      return;
    }
    default:
  }
}

function prepared(to: Reading, { stepId, tool, args, edited }: EventData['CallPrepared']): void {
  if (to.steps.get(stepId)?.is === 'open') to.steps.set(stepId, { is: 'open' });
  if (edited) to.edited.set(stepId, { by: edited.by.id, tool, args });
  else to.edited.delete(stepId);
}

function sent(to: Reading, { callId, stepId }: EventData['ToolCallRequested']): void {
  if (stepId !== undefined) to.calls.set(callId, stepId);
  unknown(to, callId, false);
}

/** Whether the call of an open step took effect is not known from here on, or is known again. */
function unknown(to: Reading, callId: string, is: boolean): void {
  const stepId = to.calls.get(callId);
  if (stepId !== undefined && to.steps.get(stepId)?.is === 'open') to.steps.set(stepId, { is: 'open', ...(is ? { sent: true } : {}) });
}

function named(to: Reading, output: Output): void {
  if ('ref' in output) to.said.add(output.ref.sha256);
}

function accept(to: Reading, { by, goal, add, drop }: EventData['PlanAccepted']): void {
  if (goal !== '') to.goal = goal;
  const turn = turnBy(to, by);
  if (turn) turn.accepted = new Set(add.map(({ id }) => id));
  for (const step of add) to.steps.set(step.id, { is: 'open' });
  if (!turn) to.declared.push(...add);
  for (const id of drop) if (to.steps.get(id)?.is === 'open') to.steps.set(id, { is: 'dropped' });
}

/** Nearly always the newest: the law judges an answer in the batch in which it came. */
function turnBy(to: Reading, callId: string): Reading['turns'][number] | undefined {
  const newest = to.turns.at(-1);
  return newest?.callId === callId ? newest : to.turns.find((turn) => turn.callId === callId);
}

/** Where a remark belongs: after the newest answer, or before the first. */
const notesOf = (to: Reading): string[] => to.turns.at(-1)?.notes ?? to.notes;
