// Loaded by path, in the worker, in clients and in the workflow bundle for encrypted runs: messages and stacks of failures go
// into a payload, which the codec encrypts like every other. That a key is missing stays in plain, since it tells whoever looks
// into Temporal without keys what to do. Imports nothing of ours: the sandbox has no Node.
import { ApplicationFailure, DefaultFailureConverter, type PayloadConverter, type SerializationContext } from '@temporalio/common';

/** The codec's sentence, and what the SDK makes of it when arguments of an activity cannot be read. */
const MISSING = /The payload key (p-[0-9a-f]{12}) is missing/;

class EncodedFailures extends DefaultFailureConverter {
  private readonly plain = new DefaultFailureConverter();

  constructor() {
    super({ encodeCommonAttributes: true });
  }

  override errorToFailure(error: unknown, payloads: PayloadConverter, context?: SerializationContext): ReturnType<DefaultFailureConverter['errorToFailure']> {
    const kid = missingKeyOf(error);
    if (kid === null) return super.errorToFailure(error, payloads, context);
    // Nothing of the error's own words: they might be somebody else's.
    const message = `The payload key ${kid} is missing where the worker runs: put it back with \`npx longhaul keys import COPY\`, and the run goes on.`;
    const plain = ApplicationFailure.create({ message, type: 'MissingKeyError', nonRetryable: false });
    // A stack names files of the worker's machine.
    plain.stack = '';
    return this.plain.errorToFailure(plain, payloads, context);
  }
}

function missingKeyOf(error: unknown): string | null {
  if (!(error instanceof Error) || (error.name !== 'MissingKeyError' && (error as { type?: unknown }).type !== 'MissingKeyError')) return null;
  return MISSING.exec(error.message)?.[1] ?? null;
}

export const failureConverter = new EncodedFailures();
