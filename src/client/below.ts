// Runs that a run has started, seen from above: what they wait for is shown with their parent, and a decision that is given with the
// parent's id goes to the run that asked. Wait ids are unique over runs, so that no decision can reach the wrong one.
// Reads only.
import type { MessageBody } from '../core/message';
import type { RunRow, WaitRow } from '../core/row';
import { MOST_DEPTH } from '../core/rules/children';
import { readSpec } from './start';
import type { ClientStores } from './types';

/** Open waits of the runs that `row` waits for, and of those below them, each with its run. */
export async function waitsBelow(stores: ClientStores, row: RunRow, depth = 0): Promise<{ run: RunRow; wait: WaitRow }[]> {
  const out: { run: RunRow; wait: WaitRow }[] = [];
  for (const child of row.waits.flatMap(({ run }) => run ?? [])) {
    const run = await stores.journal.row(child);
    if (!run) continue;
    out.push(...run.waits.filter((wait) => wait.run === undefined).map((wait) => ({ run, wait })));
    if (depth < MOST_DEPTH) out.push(...await waitsBelow(stores, run, depth + 1));
  }
  return out;
}

/** The run that a message is for: the one that is named, or the one below it that asked for what is decided. */
export async function addressee(stores: ClientStores, runId: string, body: MessageBody): Promise<string> {
  const waitId = waitIdIn(body);
  const asked = waitId === null ? null : await stores.journal.runOfWait(waitId);
  for (let at = asked, steps = 0; at !== null && at !== runId && steps <= MOST_DEPTH; steps += 1) {
    const row = await stores.journal.row(at);
    const above: string | undefined = row ? (await readSpec(stores, row))?.parent?.runId : undefined;
    if (above === undefined) break;
    if (above === runId) return asked ?? runId;
    at = above;
  }
  return runId;
}

function waitIdIn(body: MessageBody): string | null {
  switch (body.kind) {
    case 'approve':
    case 'reject':
    case 'edit': return body.approvalId;
    case 'answer': return body.questionId;
    case 'resolve': return body.callId;
    default: return null;
  }
}
