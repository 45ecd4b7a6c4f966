// The judge of a simulation: hears what was committed, published, started, answered and done outside, and names what must
// never be. It keeps its own fold of the journal and trusts nothing that the system under test says of itself.
import { canonical, digestOf } from '../core/canonical';
import type { Answer } from '../core/commands';
import type { RunEvent } from '../core/events';
import { evolve, fold } from '../core/evolve';
import { initialState } from '../core/initial';
import { callsOf } from '../core/lookups';
import type { Message } from '../core/message';
import { NO_USAGE, add, budgetLeft } from '../core/rules/budgets';
import type { State } from '../core/state';
import { pageOf } from '../core/summary';
import type { CallNeed, Need } from '../core/world';
import type { OutsideEffect } from './effect-world';
import type { SimulatedScenario } from './simulator-types';
import { Calls } from './simulator-calls';

export class Judge {
  readonly violations: string[] = [];
  /** The fold of the journal as it stands. */
  reference: State;
  /** The state at every version. */
  private readonly states: State[] = [];
  private readonly events: RunEvent[] = [];
  private readonly messages = new Set<string>();
  private epoch = 0;
  private shown = 0;
  private readonly heard = new Map<string, string>();
  private readonly calls: Calls;

  constructor(private readonly runId: string, scenario: SimulatedScenario, private readonly settled: (key: string) => boolean) {
    this.reference = initialState(runId);
    this.states.push(this.reference);
    this.calls = new Calls(scenario, (what) => this.violated(what));
  }

  violated(what: string): void {
    if (this.violations.length < 20 && !this.violations.includes(what)) this.violations.push(what);
  }

  /** A batch of this epoch stands in the journal. */
  committed(events: RunEvent[], epoch: number): void {
    if (epoch < this.epoch) this.violated(`I4 a batch of epoch ${epoch} stands after epoch ${this.epoch} has begun`);
    this.epoch = epoch;
    for (const event of events) {
      const before = this.reference;
      if (event.seq !== before.version + 1) this.violated(`C6 event ${event.seq} follows event ${before.version}`);
      if (event.at < before.at) this.violated(`C6 time runs backwards at event ${event.seq}`);
      if (before.end) this.violated(`I6 ${event.type} follows the end of the run`);
      if (before.cancel && ['RunCompleted', 'RunFailed', 'ModelCallRequested'].includes(event.type)) this.violated(`C5 ${event.type} follows CancelRequested`);
      this.calls.committed(before, event);
      if ((event.type === 'ToolCallSucceeded' || event.type === 'ToolCallPending') && event.data.via === 'sent' && event.data.settled) this.recorded(before, event.data.callId);
      this.reference = evolve(before, event);
      this.states.push(this.reference);
      this.events.push(event);
      if (event.message) this.messages.add(event.message.id);
      this.budgets(this.reference, event);
    }
  }

  private recorded(before: State, callId: string): void {
    const key = before.calls[callId]?.key ?? '';
    if (key !== '' && !this.settled(key)) this.violated(`C2 ${callId} is recorded as settled, but the ledger has no outcome`);
  }

  /** The call whose request carries this key. */
  callOf(key: string): string | null {
    return this.calls.callOf(key);
  }

  /** An attempt is about to send. */
  sends({ callId, key }: CallNeed, now: number): void {
    this.calls.sends(callId, key, now);
  }

  private budgets(state: State, event: RunEvent): void {
    const open = callsOf(state).reduce((sum, call) => add(sum, call.reserved), NO_USAGE);
    if (!alike(open, state.reserved)) this.violated(`C7 after ${event.type} ${event.seq} the reserved amounts are not those of the open calls`);
    for (const amount of [...Object.values(state.spent), ...Object.values(state.reserved), ...Object.values(budgetLeft(state))]) {
      if (!Number.isSafeInteger(amount) || amount < 0) this.violated(`C7 a budget of ${amount} after ${event.type} ${event.seq}`);
    }
    if (event.type !== 'ModelCallRequested' && (event.type !== 'ToolCallRequested' || event.data.undoOf !== undefined)) return;
    for (const kind of ['calls', 'tokens'] as const) {
      const limit = state.budget[kind];
      if (limit !== undefined && state.spent[kind] + state.reserved[kind] > limit) this.violated(`C7 ${event.type} ${event.seq} overdraws ${kind}`);
    }
  }

  /** An execution shows this state: it must be what the journal says. */
  published(executionId: string, state: State): void {
    const truth = this.states[state.version];
    if (!truth) return this.violated(`I3 ${executionId} shows version ${state.version}, which is not in the journal`);
    this.shown += 1;
    // The whole comparison is dear: two of five are made, and a state that strayed does not come back by itself.
    if (this.shown % 5 > 1 && !state.end) return;
    if (!alike(state, truth)) this.violated(`I10 ${executionId} shows a state at version ${state.version} that is not the fold of the journal`);
  }

  /** The world is asked: the request must stand in the journal. */
  started(need: Need): void {
    if (!need.begun) this.violated(`I2 ${need.id} starts un-begun`);
    if (need.kind !== 'call' && need.kind !== 'model') return;
    const type = need.kind === 'call' ? 'ToolCallRequested' : 'ModelCallRequested';
    const found = this.events.some((event) => event.type === type && event.data.callId === need.callId && event.data.attempt === need.attempt);
    if (!found) this.violated(`I2 ${need.id} starts without ${type} in the journal`);
  }

  effect(effect: OutsideEffect): void {
    this.calls.effect(effect, this.reference);
  }

  /** A sender hears this answer to its message. */
  answered(message: Message, answer: Answer): void {
    if (!answer || answer.kind === 'busy' || answer.kind === 'closed' || answer.text.startsWith('This run has not started')) return;
    // A second cancel has nothing to say that is not written, and hears how far the first has come.
    if (message.body.kind === 'cancel' && this.reference.cancel && answer.kind === 'done') return;
    const said = `${answer.kind}: ${answer.text}`;
    const content = `${message.messageId} ${digestOf(message.body)}`;
    const before = this.heard.get(content);
    const forgotten = answer.text.startsWith('This was recorded before');
    if (before !== undefined && before !== said && !forgotten) this.violated(`I12 message ${message.messageId} heard "${before}" and then "${said}"`);
    if (!forgotten) this.heard.set(content, said);
    if (!this.messages.has(message.messageId)) this.violated(`I2 message ${message.messageId} is answered "${answer.kind}" before it stands in the journal`);
  }

  /** The simulation is over. `mustEnd`: a run that is still open is stuck. */
  finish(outside: readonly OutsideEffect[], mustEnd: boolean, cut: number): void {
    const { reference } = this;
    if (mustEnd && !reference.end) this.violated(`C8 the run did not come to an end; ${pageOf(reference).replaceAll('\n', ' | ').slice(0, 600)}`);
    this.calls.finish(outside, reference);
    // Byte by byte in one run of three: the published states were compared all along.
    if (cut % 3 > 0) return;
    const middle = this.states[cut % this.states.length] as State;
    const again = fold(JSON.parse(canonical(middle)) as State, this.events.slice(middle.version));
    if (canonical(again) !== canonical(reference)) this.violated(`I10 a checkpoint at ${middle.version} and its tail are not the live state`);
    if (canonical(fold(initialState(this.runId), this.events)) !== canonical(reference)) this.violated('I10 an offline replay is not the live state');
  }
}

/** Same JSON: a member that is undefined counts as absent, the order of members does not count. */
export function alike(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  for (const key of Object.keys(left)) if (!alike(left[key], right[key])) return false;
  for (const key of Object.keys(right)) if (right[key] !== undefined && left[key] === undefined) return false;
  return true;
}
