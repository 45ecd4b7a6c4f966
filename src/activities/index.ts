// All hands by their names in history, made from what the composition root gives. Names freeze with the first history.
// Joins only; each hand has a file of its own.
import { makeAppend, makeRead } from './append';
import { makeCall } from './call';
import { cancelSelf } from './cancel-self';
import { makeCheckpoint } from './checkpoint';
import type { HandsDeps } from './deps';
import { makeGate } from './gate';
import { watched } from './heartbeat';
import { makeOpen } from './open';
import { makePrepare } from './prepare';
import type { Hands } from './types';

export type { HandsDeps } from './deps';
export type { Hands, WorkerFacts } from './types';

export function makeHands(deps: HandsDeps): Hands {
  return {
    open: makeOpen(deps),
    read: makeRead(deps),
    append: makeAppend(deps),
    model: (asked) => watched(({ signal }) => deps.model(asked, { signal })),
    prepare: makePrepare(deps),
    call: makeCall(deps),
    gate: makeGate(deps),
    checkpoint: makeCheckpoint(deps),
    cancelSelf,
  };
}
