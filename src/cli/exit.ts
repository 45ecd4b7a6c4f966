// Exit codes of the command line, and the error that carries one. Every command ends with one of these numbers.
// A message is one clear sentence that names what to do; it goes to stderr as it is.
import type { RunRow } from '../core/row';

export const EXIT = { done: 0, error: 1, usage: 2, failed: 3, cancelled: 4, waiting: 5, blocked: 6, unreachable: 7 } as const;

export const EXIT_HELP = `Exit codes:
  0 done   1 error   2 usage   3 run failed   4 run cancelled
  5 waiting for a person   6 blocked   7 service unreachable
3 to 6 say what a run came to: of run --watch, runs watch and demo only.`;

/** Ends the command with a sentence and a code; never a stack trace. */
export class Stop extends Error {
  constructor(readonly code: number, message: string) {
    super(message);
    this.name = 'Stop';
  }
}

/** The code for what a run has come to; `waiting` when people are asked for something. */
export function codeOfRow(row: RunRow): number {
  switch (row.status) {
    case 'completed': return EXIT.done;
    case 'failed': return EXIT.failed;
    case 'cancelled': return EXIT.cancelled;
    case 'blocked': return EXIT.blocked;
    case 'waiting': case 'paused': return EXIT.waiting;
    default: return EXIT.done;
  }
}

/** Turns whatever was thrown into a code and a sentence. */
export function stopOf(error: unknown): { code: number; message: string } {
  if (error instanceof Stop) return { code: error.code, message: error.message };
  const { name, code, message } = error as { name?: string; code?: string; message?: string };
  if (name === 'TemporalUnavailable') return { code: EXIT.unreachable, message: message ?? '' };
  if (name === 'ClientError') return { code: code === 'unreachable' ? EXIT.unreachable : code === 'secret' ? EXIT.usage : EXIT.error, message: message ?? '' };
  if (name === 'StoreError') return { code: code === 'unreachable' ? EXIT.unreachable : code === 'address' ? EXIT.usage : EXIT.error, message: message ?? '' };
  if (name === 'ConfigError' || name === 'SecretsFileError') return { code: EXIT.usage, message: message ?? '' };
  return { code: EXIT.error, message: message ?? String(error) };
}
