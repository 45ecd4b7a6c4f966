// A careful person beside a run: answers questions and approves, and where the run cannot know whether a call happened, looks into
// the effect server's own log, when nothing can be on its way any more, and says what stands there.
import type { State } from '../../../src/core/state';
import type { EffectServer } from '../../../src/testing';
import { sleep, type Rig } from '../../rig/rig';
import { effectsOf, type OutsideKind } from '../../rig/outside-tools';

/** ms in which a request that has left arrives. */
const ARRIVAL_MS = 2_000;

/** Answers what is asked until the run is over; answers the calls that it was asked about, as `tool callId`. */
export async function attend(rig: Rig, outside: EffectServer, runId: string, timeoutMs = 120_000): Promise<string[]> {
  const asked: string[] = [];
  const done = new Set<string>();
  for (;;) {
    const open = await rig.until(runId, (state) => (state.end ? { over: true as const } : next(state, done)), timeoutMs);
    if ('over' in open) return asked;
    done.add(open.id);
    if (open.kind === 'question') await rig.send(runId, { kind: 'answer', questionId: open.id, answer: { value: 'yes' } }, { messageId: open.id, timeoutMs: 60_000 });
    if (open.kind === 'approval') await rig.send(runId, { kind: 'approve', approvalId: open.id }, { messageId: open.id, timeoutMs: 60_000 });
    if (open.kind !== 'decision') continue;
    asked.push(`${open.tool} ${open.callId}`);
    await sleep(ARRIVAL_MS);
    const happened = effectsOf(outside, open.tool as OutsideKind, runId) > 0;
    await rig.send(runId, { kind: 'resolve', callId: open.callId, ...(happened ? { verdict: 'happened', reference: 'stands in the log' } : { verdict: 'not-happened' }) }, { messageId: open.id, timeoutMs: 60_000 });
  }
}

type Open = { kind: 'question' | 'approval'; id: string } | { kind: 'decision'; id: string; callId: string; tool: string };

function next(state: State, done: ReadonlySet<string>): Open | undefined {
  const open: Open[] = [
    ...Object.keys(state.questions).map((id) => ({ kind: 'question' as const, id })),
    ...Object.keys(state.approvals).map((id) => ({ kind: 'approval' as const, id })),
    ...Object.values(state.decisions).map(({ decisionId, callId, tool }) => ({ kind: 'decision' as const, id: decisionId, callId, tool })),
  ];
  return open.find(({ id }) => !done.has(id));
}
