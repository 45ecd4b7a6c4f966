// What the store thread is told and what it says. Shapes only; answers cross as JSON text.
import type { OperationName } from '../sql/operations';

/** `close` ends the thread after everything asked before. */
export type Request = { id: number; name: OperationName; values: unknown[] } | { close: true };
export type Reply =
  | { ready: true } | { refused: { code: string; message: string } }
  | { id: number; answer: string | undefined } | { id: number; error: { code: string; message: string } };
/** What the thread is started with. `patienceMs`: how long a request waits for another process's lock. */
export interface ThreadOptions { file: string; mark: string; patienceMs: number }
