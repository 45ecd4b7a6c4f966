// The one inbox of a run: commands from messages, timers and activities, each with the promise of its answer.
// Handlers reach it before the journal is open; the pump alone takes from it. Decides nothing.
import type { Answer, Command } from '../core/commands';

export interface Entry {
  command: Command;
  /** The need that this command answers. */
  needId?: string;
  answer(given: Answer): void;
}

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

  /** Puts the command that opens a generation before everything that came meanwhile. */
  begin(command: Command): void {
    this.waiting.unshift({ command, answer: () => undefined });
  }

  /** Takes up to `limit` commands, oldest first. */
  take(limit: number): Entry[] {
    return this.waiting.splice(0, limit);
  }
}
