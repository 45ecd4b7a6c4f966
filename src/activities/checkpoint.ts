// Saves a checkpoint: folds the journal itself up to a version and stores canonical(state) by content, so that the state in
// the conductor's memory is never the source. A state above 1 MiB is not saved; the run is then folded from further back.
import { fits, snapshot } from '../core/checkpoint';
import { LIMITS } from '../core/run';
import { STATE_VERSION } from '../core/state';
import type { HandsDeps } from './deps';
import { foldOn, startOf } from './fold-journal';
import type { Hands } from './types';

export function makeCheckpoint(deps: HandsDeps): Hands['checkpoint'] {
  return async ({ runId, version }) => {
    const { state } = await foldOn(deps, await startOf(deps, runId, version), version);
    if (state.version !== version) return { kind: 'failed', why: `The journal of run ${runId} ends at ${state.version}, before ${version}.` };
    const { text } = snapshot(state);
    if (!fits(text)) return { kind: 'failed', why: `The state has ${text.length} characters; a checkpoint may have ${LIMITS.checkpointBytes}.` };
    const ref = await deps.artifacts.write(Buffer.from(text), { mediaType: 'application/json', summary: `state of run ${runId} at ${version}`, name: `checkpoint-${version}.json` });
    await deps.journal.saveCheckpoint({ runId, version, stateVersion: STATE_VERSION, ref, at: Date.now() });
    return { kind: 'saved', version, ref };
  };
}
