// Plays the people of a test run: answers every question and approves every approval as they come, until the run is over.
import type { Rig } from './rig';

/** The plan that most tests run: readers in parallel, an effect, a question, a wait, an approved effect. */
export const EVERYTHING = {
  goal: 'Do everything once',
  steps: [
    { id: 'look', title: 'Look', action: { type: 'tool', tool: 'look', args: { text: 'hello' } } },
    { id: 'big', title: 'Read a lot', action: { type: 'tool', tool: 'big', args: { text: 'x' } } },
    { id: 'stamp', title: 'Stamp', action: { type: 'tool', tool: 'stamp', args: { text: { $from: 'look.text' } } } },
    { id: 'ask', title: 'Ask', dependsOn: ['stamp'], action: { type: 'question', question: 'Which quarter?' } },
    { id: 'pause', title: 'Pause', dependsOn: ['ask'], action: { type: 'wait', for: '1s' } },
    { id: 'asked', title: 'Publish', dependsOn: ['pause', 'big'], action: { type: 'tool', tool: 'asked', args: { text: { $from: 'ask' } } } },
  ],
};

/** Answers and approves until the run is over; what each question or approval heard stands in the answer. */
export async function drive(rig: Rig, runId: string, timeoutMs = 90_000): Promise<Record<string, string>> {
  const heard: Record<string, string> = {};
  for (;;) {
    const open = await rig.until(runId, (state) => (state.end ? { over: true as const } : undefined)
      ?? first(Object.keys(state.questions), heard, 'question') ?? first(Object.keys(state.approvals), heard, 'approval'), timeoutMs);
    if ('over' in open) return heard;
    const body = open.kind === 'question' ? { kind: 'answer' as const, questionId: open.id, answer: { value: 'Q3' } } : { kind: 'approve' as const, approvalId: open.id };
    const answer = await rig.send(runId, body, { messageId: `drive-${open.id}`, timeoutMs: 60_000 });
    heard[open.id] = answer.kind;
  }
}

function first(ids: string[], heard: Record<string, string>, kind: 'question' | 'approval'): { kind: 'question' | 'approval'; id: string } | undefined {
  const id = ids.find((one) => heard[one] === undefined);
  return id === undefined ? undefined : { kind, id };
}
