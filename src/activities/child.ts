// A look at a run that a call has started: over or not, and, when it is, how it ended, what it made and what it used up.
// The child's own journal is read, whatever was called back; nothing is decided here. Asked again, it gives the same.
import type { Json } from '../core/canonical';
import type { ErrorClass, Failure } from '../core/failure';
import type { ArtifactRef, Output } from '../core/run';
import type { State } from '../core/state';
import type { CollectResult } from '../core/world';
import { ArtifactError } from '../ports/artifacts';
import type { HandsDeps } from './deps';
import { failure } from './failures';
import { foldOn, startOf } from './fold-journal';
import { loadOutput, storeOutput } from './outputs';
import { isText } from './results';

type Stores = Pick<HandsDeps, 'journal' | 'artifacts' | 'log'>;

/** Bytes of a child's result that are handed on as they are; a larger one is named by its artifact. */
const RESULT_BYTES = 256 * 1024;
/** Artifacts of a child that its parent vouches for, the newest. */
const MOST_ARTIFACTS = 20;
const NOTHING: Output = { value: null };

export async function lookAtChild(stores: Stores, runId: string, name: string): Promise<CollectResult> {
  const row = await stores.journal.row(runId);
  if (!row) return { output: NOTHING, summary: '', failure: failure('not-found', 'child-lost', `The journal does not know run ${runId} any more.`) };
  const { state } = await foldOn(stores, await startOf(stores, runId, row.version), row.version);
  if (!state.end) return { output: NOTHING, summary: `run ${runId} is ${row.status}`, open: true };
  const fault = failureOf(state);
  const artifacts = madeBy(state);
  const about = { usage: state.spent, ...(artifacts.length > 0 ? { artifacts } : {}) };
  if (fault) return { output: NOTHING, summary: fault.message, failure: fault, ...about };
  const summary = `run ${runId}: ${state.end.summary}`.slice(0, 300);
  const value = {
    runId, agent: row.agent, status: state.end.status, outcome: state.end.outcome, summary: state.end.summary,
    result: await resultOf(stores, state), artifacts: artifacts.map(({ ref }) => ref as unknown as Json),
  };
  return { output: await storeOutput(stores.artifacts, value, { name, summary }), summary, ...about };
}

/** What the child answered, a long text as a text. What a tool of it made, such as a report, is named by its artifact. */
async function resultOf({ artifacts }: Stores, { end, artifacts: made }: State): Promise<Json> {
  const result = end?.result ?? { value: null };
  if ('value' in result) return result.value;
  const { ref } = result;
  const said = ref.mediaType === 'application/json' || (isText(ref.mediaType) && !made.some((one) => one.ref.sha256 === ref.sha256));
  if (!said || ref.bytes > RESULT_BYTES) return ref as unknown as Json;
  return loadOutput(artifacts, result).catch((error: unknown) => {
    // An answer may name what nobody has stored; the parent, which asks until it is told, shall not wait for it.
    if (error instanceof ArtifactError) return ref as unknown as Json;
    throw error;
  });
}

function madeBy({ artifacts, end }: State): { ref: ArtifactRef; role: string }[] {
  const result = end?.result && 'ref' in end.result ? [{ ref: end.result.ref, role: 'result' }] : [];
  const all = [...result, ...artifacts.slice(-MOST_ARTIFACTS).reverse().map(({ ref, role }) => ({ ref, role }))];
  return all.filter(({ ref }, i) => all.findIndex((other) => other.ref.sha256 === ref.sha256) === i).slice(0, MOST_ARTIFACTS);
}

/** Classes that mean the same for the parent's call; what concerns only a run's own inside is a refusal to it. */
const HANDED_ON: ReadonlySet<ErrorClass> = new Set(['network', 'server', 'permission', 'argument', 'business-refusal', 'not-found', 'policy', 'unknown']);

function failureOf({ runId, end }: State): Failure | null {
  if (end?.status === 'cancelled') return failure('cancelled', 'child-cancelled', `Run ${runId} was cancelled: ${end.summary}`);
  if (end?.status !== 'failed') return null;
  const cls = end.failure?.class ?? 'unknown';
  return failure(HANDED_ON.has(cls) ? cls : 'business-refusal', 'child-failed', `Run ${runId} failed: ${end.summary}`);
}
