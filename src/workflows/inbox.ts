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

  /** Takes commands, oldest first: at most `limit`, and messages of at most `bytes` in all, but always one. */
  take(limit: number, bytes = Number.POSITIVE_INFINITY): Entry[] {
    let count = 0;
    for (let left = bytes; count < Math.min(limit, this.waiting.length); count += 1) {
      const command = this.waiting[count]?.command;
      if (command?.type === 'Message') left -= JSON.stringify(command.message).length;
      if (left < 0 && count > 0) break;
    }
    return this.waiting.splice(0, count);
  }
}
