// Continue-as-new: when a generation ends and the next begins with the same input. Soft limits wait for a quiet moment, hard
// ones let nothing new begin until it has come; a checkpoint is saved first and never blocks. Rolls in the very workflow
// task that answered the last turn: waiting for a moment between tasks starves under steady messages (measured).
import { allHandlersFinished, condition, makeContinueAsNewFunc, workflowInfo } from '@temporalio/workflow';
import type { WorkerFacts } from '../activities/types';
import type { RunInput } from '../core/run';
import type { State } from '../core/state';
import type { Need } from '../core/world';
import type { Inbox } from './inbox';
import { checkpoint } from './perform';
import type { Turned } from './pump';
import type { Flights } from './reconcile';

/** The need under which the checkpoint of a generation's end lands. */
const SAVED = 'roll';
/** The next generation may run on a newer build; this one stays where it is. */
const again = makeContinueAsNewFunc<(input: RunInput) => Promise<unknown>>({ initialVersioningBehavior: 'AUTO_UPGRADE' });
/** A wait longer than this, in ms, is worth a new generation first. */
const LONG_WAIT_MS = 60_000;

export class Rolling {
  private stage: 'no' | 'saving' | 'ready' = 'no';
  private updates = 0;
  /** Another execution carried the journal on: this one must go, whatever is in flight. */
  private behind = false;

  /** Seen at the start, the sign of a newer deployment version says nothing new: this generation is where it should be, or cannot be. */
  private readonly movedBefore = workflowInfo().targetWorkerDeploymentVersionChanged;

  constructor(private readonly limits: WorkerFacts['limits'], private readonly inbox: Inbox, private readonly flights: Flights) {}

  /** Counts an Update; true when this execution takes no more of them. */
  full(): boolean {
    this.updates += 1;
    return this.updates > this.limits.hardUpdates;
  }

  /** May nothing new begin in the turn that folds the answers of `answered`? */
  hold(state: State, answered: ReadonlySet<string>): boolean {
    if (state.cancel || state.end) return false;
    if (this.behind || this.stage !== 'no' || this.hard()) return true;
    return this.soft() && this.flights.activities(answered) === 0;
  }

  /** After a turn: starts the checkpoint when it is time, and continues as new once that is folded and nothing waits. */
  async after(input: RunInput, state: State, { verdict, needs, answered }: Turned): Promise<void> {
    this.behind ||= verdict === 'behind';
    if (this.behind) return this.roll(input, state, () => true);
    if (answered.has(SAVED)) this.stage = 'ready';
    if (state.cancel || state.end) return;
    if (this.stage === 'no' && this.quiet() && (this.soft() || this.beforeLongWait(needs))) this.save(state);
    if (this.stage === 'ready') await this.roll(input, state, () => this.quiet());
  }

  private soft(): boolean {
    return workflowInfo().historyLength > this.limits.softEvents || workflowInfo().continueAsNewSuggested || this.moves();
  }

  /** Another deployment version has become current: the next generation begins there. */
  private moves(): boolean {
    return workflowInfo().targetWorkerDeploymentVersionChanged && !this.movedBefore;
  }

  private hard(): boolean {
    return workflowInfo().historyLength > this.limits.hardEvents || this.updates > this.limits.hardUpdates;
  }

  private quiet(): boolean {
    return this.flights.activities() === 0;
  }

  private beforeLongWait(needs: readonly Need[]): boolean {
    return workflowInfo().historyLength > this.limits.waitEvents
      && needs.every((need) => need.kind === 'timer' && need.dueAt - Date.now() > LONG_WAIT_MS);
  }

  private save(state: State): void {
    this.stage = 'saving';
    void checkpoint(state.runId, state.version, `checkpoint at ${state.version}`).then((command) => void this.inbox.submit(command, SAVED));
  }

  private async roll(input: RunInput, { version }: State, still: () => boolean): Promise<void> {
    await condition(() => allHandlersFinished() || this.inbox.length > 0);
    if (this.inbox.length === 0 && still()) await again({ ...input, version });
  }
}
