// One pump turn as a pure function: decide all waiting commands in order on a draft, then begin what became possible.
// The conductor, the simulator and any later driver run this very law; what a turn decides is one batch (I4).
import { advance } from './advance';
import { type Answer, type Command, identityOf } from './commands';
import { contentOf, decide } from './decide';
import { EVENT_SCHEMA, type Draft, type RunEvent } from './events';
import { evolve } from './evolve';
import type { MessageAnswer } from './message';
import { needsOf } from './needs';
import { CONDUCTOR } from './run';
import type { State } from './state';
import type { Need } from './world';

export interface TurnResult {
  /** The batch: numbered, stamped, gapless from `state.version + 1`. Empty when nothing happened. */
  events: RunEvent[];
  draft: State;
  /** One answer per command, in order. */
  answers: Answer[];
  /** What the run needs after the turn; every one of them is begun in the draft. */
  needs: Need[];
}

/** A guard against a rule that never comes to rest; far above what one turn can rightly decide. */
const MOST_STEPS = 5000;

/** @param now workflow time in ms; `at` of the events is never before the last event's. */
export function turn(state: State, commands: readonly Command[], now: number, options: { hold?: boolean } = {}): TurnResult {
  const at = Math.max(now, state.at);
  const events: RunEvent[] = [];
  const answers: Answer[] = [];
  let draft = state;
  const write = (drafts: Draft[], causationId: string, command?: Command, heard?: MessageAnswer | null): void => {
    drafts.forEach((one, i) => {
      const event = stamp(draft, one, at, causationId, i === 0 ? command : undefined, heard);
      events.push(event);
      draft = evolve(draft, event);
    });
  };
  let cause = 'time';
  for (const command of commands) {
    const decision = decide(draft, command, at);
    cause = identityOf(command);
    write(decision.events, cause, command, decision.answer);
    answers.push(decision.answer);
  }
  for (let i = 0; i < MOST_STEPS; i += 1) {
    const next = advance(draft, at, options.hold === true);
    if (next.length === 0) break;
    write(next, cause);
  }
  return { events, draft, answers, needs: needsOf(draft, at).filter((need) => need.begun) };
}

/** What the sender of a message heard, so that the same again hears the same. */
function messageOf(command: Command, answer: MessageAnswer): Pick<RunEvent, 'message'> {
  if (command.type === 'Message') return { message: { id: command.message.messageId, digest: contentOf(command.message), answer } };
  return command.type === 'Malformed' ? { message: { id: command.messageId, digest: 'malformed', answer } } : {};
}

/** The first event of a command carries its identity, so that the journal refuses the same command also when state has forgotten it. */
function stamp(state: State, draft: Draft, at: number, causationId: string, command: Command | undefined, heard: MessageAnswer | null | undefined): RunEvent {
  const key = command && command.type !== 'TimerFired' ? identityOf(command) : undefined;
  return {
    runId: state.runId, seq: state.version + 1, v: EVENT_SCHEMA, type: draft.type, at, causationId,
    correlationId: draft.correlationId ?? 'run', ...(key === undefined ? {} : { idempotencyKey: key }),
    actor: draft.actor ?? CONDUCTOR,
    ...(command && heard ? messageOf(command, heard) : {}),
    data: draft.data,
  } as RunEvent;
}
