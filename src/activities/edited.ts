// What a model is told of a call whose arguments a person changed: that it was so, by whom, and what the call was made with.
// Members that the tool names as sensitive are left out. Reads verified bytes only; decides nothing.
import type { Json } from '../core/canonical';
import { shownArgs } from '../core/sensitive';
import type { ArtifactsPort } from '../ports/artifacts';
import type { Detail } from './results';
import type { Transcript } from './transcript';

type Edit = Transcript['edited'] extends Map<string, infer E> ? E : never;

/** Bytes of edited arguments that are shown; larger ones are named by their artifact. */
const SHOWN_BYTES = 4 * 1024;

/** The result of a step with the edit beside it. */
export async function withEdit(result: Json, edit: Edit | undefined, hidden: readonly string[], { brief }: Detail, artifacts: Pick<ArtifactsPort, 'read'>): Promise<Json> {
  if (!edit) return result;
  const told = typeof result === 'object' && result !== null && !Array.isArray(result) ? result : { value: result };
  const edited = { by: edit.by, note: 'A person changed the arguments of this call before it was made; this is what came of the changed call.' };
  return { ...told, edited: brief ? edited : { ...edited, arguments: await shown(edit, hidden, artifacts) } };
}

async function shown({ args }: Edit, hidden: readonly string[], artifacts: Pick<ArtifactsPort, 'read'>): Promise<Json> {
  if ('value' in args) return shownArgs(args.value, hidden);
  const { sha256, bytes } = args.ref;
  if (bytes > SHOWN_BYTES) return { artifact: { sha256, bytes } };
  return shownArgs(JSON.parse(new TextDecoder().decode(await artifacts.read(sha256))) as Json, hidden);
}
