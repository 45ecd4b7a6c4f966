// Two waits of one run, made of a seed: what they are, what each is answered with, and where the worker dies between the answers.
// Tells from journal and effects alone what came of them. Sends and kills nothing itself.
import { callbackIdOf, callbackMessageId } from '../../../src/core/keys';
import type { MessageBody } from '../../../src/core/message';
import type { State } from '../../../src/core/state';
import { Random } from '../../../src/testing/random';
import type { Rig } from '../../rig/rig';

type Kind = 'approval' | 'question' | 'callback';
/** Where the kill is: after the first answer was heard, while it is under way, before it is sent, or before both are. */
export type Place = 'heard' | 'under way' | 'one away' | 'both away';
export interface Wait { stepId: string; kind: Kind; text: string; verdict: 'approve' | 'edit' | 'reject'; word: string }
export interface Order { seed: number; waits: [Wait, Wait]; place: Place; delayMs: number }

const KINDS: Kind[] = ['approval', 'question', 'callback'];
const PLACES: Place[] = ['heard', 'under way', 'one away', 'both away'];

/** What the seed says. Half of the pairs of one kind are asked in the same words: only the ids tell such waits apart. */
export function orderOf(seed: number): Order {
  const chance = new Random(seed);
  const [first, second] = [chance.pick(KINDS), chance.pick(KINDS)];
  const same = first === second && chance.chance(0.5);
  // Who refuses a call refuses the very same call beside it as well, and a run of which nothing is left has failed: one of two at most.
  const verdicts = chance.shuffled(['approve', same ? 'edit' : chance.pick(['edit', 'reject', 'approve'] as const)] as const);
  const wait = (stepId: string, kind: Kind, i: number): Wait => ({ stepId, kind, text: same ? 'the same' : `text of ${stepId}`, verdict: verdicts[i] ?? 'approve', word: `word ${chance.int(0, 1e9)} for ${stepId}` });
  return { seed, waits: [wait('a', first, 0), wait('b', second, 1)], place: chance.pick(PLACES), delayMs: chance.int(0, 400) };
}

export const planOf = ({ waits }: Order): object => ({
  goal: 'Two answers', steps: waits.map(({ stepId: id, kind, text }) => ({
    id, title: id, action: kind === 'question' ? { type: 'question', question: text } : { type: 'tool', tool: kind === 'approval' ? 'asked' : 'order', args: { text } },
  })),
});

/** Are both waits open? */
export const bothOpen = ({ approvals, questions, callbacks = {} }: State): boolean => Object.keys({ ...approvals, ...questions }).length + Object.values(callbacks).filter(({ open }) => open).length === 2;

/** The message that answers a wait, under the id that belongs to it. */
export function answerTo({ stepId, kind, verdict, word }: Wait, state: State): { body: MessageBody; messageId: string; hears: string } {
  const ids = { messageId: `${state.runId}-${stepId}` };
  if (kind === 'question') return { ...ids, hears: 'done', body: { kind: 'answer', questionId: idIn(Object.values(state.questions).find((asked) => asked.stepId === stepId)?.questionId), answer: { value: word } } };
  const callId = idIn(state.steps.find(({ id }) => id === stepId)?.callId);
  if (kind === 'callback') {
    const callbackId = callbackIdOf(state.runId, callId);
    return { messageId: callbackMessageId(callbackId, word), hears: 'done', body: { kind: 'callback', callbackId, eventId: word, payload: { value: word } } };
  }
  const approvalId = idIn(Object.values(state.approvals).find((asked) => asked.stepId === stepId)?.approvalId);
  switch (verdict) {
    case 'approve': return { ...ids, hears: 'granted', body: { kind: 'approve', approvalId } };
    case 'edit': return { ...ids, hears: 'done', body: { kind: 'edit', approvalId, args: { value: { text: word } } } };
    case 'reject': return { ...ids, hears: 'rejected', body: { kind: 'reject', approvalId, reason: word } };
  }
}

function idIn(id: string | undefined): string {
  if (id === undefined) throw new Error('This step waits for nothing.');
  return id;
}

/** What the steps came to, and which effects there were. */
export async function cameOf(rig: Rig, runId: string): Promise<{ steps: unknown[]; effects: string[]; decided: string[] }> {
  const [state, events] = [await rig.state(runId), await rig.events(runId)];
  const steps = state.steps.map(({ id, output, failure }) => [id, failure ? failure.message : output && 'value' in output ? textOf(output.value) : output]);
  const decided = events.flatMap(({ type, data }) => {
    switch (type) {
      case 'ApprovalRejected': return [data.approvalId];
      case 'ApprovalGranted': case 'CallEdited': return 'approvalId' in data ? [data.approvalId] : [];
      case 'QuestionAnswered': return [data.questionId];
      case 'CallbackReceived': return [data.callbackId];
      default: return [];
    }
  });
  return { steps, effects: rig.effects(runId).map(({ tool, text }) => `${tool} ${text}`).sort(), decided };
}

/** The result of a tool names its text beside its key. */
const textOf = (value: unknown): unknown => (typeof value === 'object' && value !== null && 'text' in value ? value.text : value);

/** What must have come of it. */
export function oughtOf({ waits }: Order): { steps: unknown[]; effects: string[] } {
  const result = ({ kind, verdict, word, text }: Wait): string => (kind !== 'approval' || verdict === 'edit' ? word : verdict === 'approve' ? text : `ann rejected it: ${word}`);
  const effect = ({ kind, verdict, word, text }: Wait): string[] => {
    if (kind === 'question' || (kind === 'approval' && verdict === 'reject')) return [];
    return [kind === 'callback' ? `order ${text}` : `asked ${verdict === 'edit' ? word : text}`];
  };
  return { steps: waits.map((wait) => [wait.stepId, result(wait)]), effects: waits.flatMap(effect).sort() };
}
