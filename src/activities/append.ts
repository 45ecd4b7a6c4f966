// Appends one batch to the journal, or says why not. All authority is the store's; this only marks the two moments at which
// a crash is most telling: the batch is not in yet, and the batch is in while the workflow task is not finished.
import type { Hands } from './types';
import { crashPoint } from '../ports/crash-points';
import type { HandsDeps } from './deps';

export function makeAppend({ journal }: Pick<HandsDeps, 'journal'>): Hands['append'] {
  return async (request) => {
    const last = request.events.at(-1)?.type ?? 'nothing';
    crashPoint('append:before', last);
    const answer = await journal.append(request);
    if (answer.kind === 'appended') crashPoint('append:after', last);
    return answer;
  };
}

/** Pages through the journal after `after`. */
export function makeRead({ journal }: Pick<HandsDeps, 'journal'>): Hands['read'] {
  return ({ runId, after }) => journal.read(runId, after);
}
