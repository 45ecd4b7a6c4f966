// All hands by their names in history, made from what the composition root gives. Names freeze with the first history.
// Joins only, and makes whole what comes short through history; each hand has a file of its own.
import { fromWire } from '../core/wire';
import { makeAppend, makeRead } from './append';
import { makeCall } from './call';
import { cancelSelf } from './cancel-self';
import { makeCheckpoint } from './checkpoint';
import { makeCollect } from './collect';
import type { HandsDeps } from './deps';
import { makeGate } from './gate';
import { guarded, guardedHand, quiet } from './guard';
import { watched } from './heartbeat';
import { makeOpen } from './open';
import { makePrepare } from './prepare';
import { makeVerify } from './proofs';
import { makeTerms } from './terms';
import type { Hands } from './types';

export type { HandsDeps } from './deps';
export type { Hands, WorkerFacts } from './types';

/** ms that a model has for one answer: less than Temporal gives the activity, so that the hands can still say what they know. */
const MODEL_MS = 600_000;

export function makeHands(given: HandsDeps): Hands {
  const deps = guarded(given);
  const [prepare, call, gate] = [makePrepare(deps), makeCall(deps), makeGate(deps)];
  return {
    open: quiet(makeOpen(deps)),
    read: quiet(makeRead(deps)),
    append: quiet(makeAppend(deps)),
    verify: quiet(makeVerify(deps)),
    terms: guardedHand(makeTerms(deps)),
    model: guardedHand((asked) => watched(({ signal }) => deps.model(fromWire('model', asked), { signal }), { timeoutMs: MODEL_MS })),
    prepare: guardedHand((asked) => prepare(fromWire('prepare', asked))),
    call: guardedHand((asked) => call(fromWire('call', asked))),
    gate: guardedHand((asked) => gate(fromWire('gate', asked))),
    // A checkpoint is the fold of the journal, byte for byte (I10).
    checkpoint: quiet(makeCheckpoint(given)),
    collect: guardedHand(makeCollect(deps)),
    cancelSelf,
  };
}
