// The one error of this folder: Temporal cannot be used, and why.
// Its message is one or two sentences that name what to do; callers print it as it is.
// `kind` says what to do next; there is no deeper class tree.

/**
 * - `no-binary`: no Temporal binary was found and none could be fetched.
 * - `unreachable`: an address was given (or is kept) and nothing answers there.
 * - `exited`: the development server ended while it was starting.
 * - `not-ready`: the development server runs but did not become healthy in time.
 * - `bad-declaration`: temporal-dev.yml is missing or does not have the shape that is needed.
 */
export type UnavailableKind = 'no-binary' | 'unreachable' | 'exited' | 'not-ready' | 'bad-declaration';

export class TemporalUnavailable extends Error {
  override readonly name = 'TemporalUnavailable';

  constructor(
    readonly kind: UnavailableKind,
    message: string,
  ) {
    super(message);
  }
}
