// One pump turn as a pure function: decide all waiting commands in order on a draft, then begin what became possible.
// The conductor, the simulator and any later driver run this very law. Implementation follows with the rules.
import type { Answer, Command } from './commands';
import type { RunEvent } from './events';
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

export type Turn = (state: State, commands: Command[], now: number, options?: { hold?: boolean }) => TurnResult;
