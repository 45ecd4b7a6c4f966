// Which artifacts a run vouches for: those that the runtime itself wrote into an event at a place made for references.
// A sha256 in the arguments of a call, in a plan or in an inline value is somebody's word and is left out: a model could
// write any there. Pure. (What must not be collected is another question, and there every mention counts.)
import type { RunEvent } from './events';
import type { ArtifactRef, Output } from './run';

/** Ids of the artifacts that this event vouches for: input, outputs, answers, texts of people, previews, products. */
export function artifactsVouchedBy(event: RunEvent): string[] {
  switch (event.type) {
    case 'RunCreated': return idOf(event.data.inputRef);
    case 'ModelCallSucceeded': return refIn(event.data.output);
    case 'ToolCallPending':
    case 'ToolCallSucceeded': return refIn(event.data.output);
    case 'StepCompleted': return refIn(event.data.output);
    case 'QuestionAnswered': return refIn(event.data.answer);
    case 'CallbackReceived': return refIn(event.data.payload);
    case 'UserMessageReceived': return refIn(event.data.text);
    case 'CallPrepared': return idOf(event.data.previewRef);
    case 'ArtifactProduced': return idOf(event.data.ref);
    default: return [];
  }
}

const idOf = (ref: ArtifactRef | undefined): string[] => (ref ? [ref.sha256] : []);
const refIn = (output: Output | undefined): string[] => (output && 'ref' in output ? [output.ref.sha256] : []);
