// How the rooms below the tools say no: an error with a class of the closed table, without the runtime behind it, so that the
// reader's child process starts light. `readerTool` (tools/reader-tool.ts) turns it into what the runtime understands.
import type { ErrorClass } from 'longhaul';

export class Refusal extends Error {
  constructor(readonly failureClass: ErrorClass, readonly code: string, message: string) {
    super(message);
    this.name = 'Refusal';
  }
}
