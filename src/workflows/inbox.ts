// The one inbox of a run: commands from messages, timers and activities, each with the promise of its answer.
// Handlers reach it before the journal is open; the pump alone takes from it. Decides nothing.
// A message that is still being looked at keeps its place in line: nothing that came later, no deadline either, goes before it.
import { condition } from '@temporalio/workflow';
import type { Answer, Command } from '../core/commands';
import type { Message } from '../core/message';
import type { Seen } from './verify';

export interface Entry {
  /** Where it is read only when it is asked for, it is read once. */
  command: Command;
  /** The need that this command answers. */
  needId?: string;
  /** It is being looked at. */
  open?: boolean;
  answer(given: Answer): void;
}

const unheard = (): void => undefined;

export class Inbox {
  private waiting: Entry[] = [];

  get length(): number {
    return this.waiting.length;
  }

  /** Puts a command in line; resolves with its answer once that stands in the journal. */
  submit(command: Command, needId?: string): Promise<Answer> {
    return new Promise((resolve) => {
      this.waiting.push({ command, needId, answer: resolve });
    });
  }

  /** Puts in line what nobody waits for an answer to. It is read when its turn comes: a thousand Signals at once cost little until then. */
  put(read: () => Command): void {
    let known: Command | undefined;
    this.waiting.push({ get command() { return (known ??= read()); }, answer: unheard });
  }

  /** As `submit`, for a message, once hands have looked at it. */
  submitSeen(message: Message, found: Promise<Seen>): Promise<Answer> {
    return new Promise((resolve) => {
      const entry: Entry = { command: { type: 'Message', message }, open: true, answer: resolve };
      this.waiting.push(entry);
      void found.then((seen) => {
        entry.command = { type: 'Message', message, ...seen };
        entry.open = false;
      });
    });
  }

  /** True while a waiting message is being looked at. */
  get open(): boolean {
    return this.waiting.some((entry) => entry.open);
  }

  /** Waits until what is in line now can be taken; what comes meanwhile may still be open. */
  async settled(): Promise<void> {
    const before = this.waiting.filter((entry) => entry.open);
    await condition(() => before.every((entry) => !entry.open));
  }

  /** Puts the command that opens a generation before everything that came meanwhile. */
  begin(command: Command): void {
    this.waiting.unshift({ command, answer: unheard });
  }

  /** Takes commands, oldest first: at most `limit`, and messages of at most `bytes` in all, but always one that is not open. */
  take(limit: number, bytes = Number.POSITIVE_INFINITY): Entry[] {
    let count = 0;
    for (let left = bytes; count < Math.min(limit, this.waiting.length); count += 1) {
      const { command, open } = this.waiting[count] ?? {};
      if (open) break;
      if (command?.type === 'Message') left -= JSON.stringify(command.message).length;
      if (left < 0 && count > 0) break;
    }
    return this.waiting.splice(0, count);
  }

  /** Takes everything, open or not. */
  drain(): Entry[] {
    return this.waiting.splice(0);
  }
}
