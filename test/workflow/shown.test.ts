// What a stranger reads of every kind of wait, to the letter (support/shown.txt): on the page of the run, in the inbox and in Temporal's
// Web UI. Read as the command line and the Web UI read it, from the journal and by Temporal's own query. Ids, and times as the journal
// has them, are put by name; whatever else differs is a difference.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { pageOfRun } from '../../src/cli/page';
import { time } from '../../src/cli/print';
import { looksIn } from '../../src/cli/verdicts';
import { createClient, type LonghaulClient } from '../../src/client/client';
import type { Json } from '../../src/core/canonical';
import { iso } from '../../src/core/iso';
import { callbackIdOf, callbackMessageId } from '../../src/core/keys';
import type { WaitRow } from '../../src/core/row';
import { workflowIdOf } from '../../src/messages';
import { PARENT, RIG_AGENT } from '../rig/config';
import { startRig, type Rig, type RunOptions } from '../rig/rig';
import type { WorkerProcess } from '../rig/worker-process';

let rig: Rig;
let client: LonghaulClient;
/** The worker that has the tool which the next one lacks. */
let having: WorkerProcess;
beforeAll(async () => {
  rig = await startRig();
  client = createClient({ stores: rig.stores, connection: rig.client.connection });
  await rig.worker();
}, 120_000);
afterAll(() => rig.stop(), 120_000);

const step = (action: object, more: object = {}): { plan: Json } => ({ plan: { goal: 'Wait', steps: [{ id: 's', title: 'Do it', action, ...more }] } as unknown as Json });
const tool = (name: string, args: object): { plan: Json } => step({ type: 'tool', tool: name, args });
const ASK = { type: 'question', question: 'Which quarter?' };

interface Kind { run: Omit<RunOptions, 'runId'>; before?: () => Promise<unknown>; then?: (runId: string) => Promise<unknown> }
const waiting = (runId: string): Promise<WaitRow> => rig.until(runId, () => true).then(async () => {
  for (;;) {
    const [wait] = (await rig.stores.journal.row(runId))?.waits ?? [];
    if (wait) return wait;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
});

const KINDS: Record<string, Kind> = {
  'an approval': { run: tool('asked', { text: 'go' }) },
  'an approval by two people, of whom one has': { run: tool('asked', { text: 'two people' }), then: async (runId) => rig.send(runId, { kind: 'approve', approvalId: (await waiting(runId)).waitId }) },
  'an approval that who asked may not give': { run: tool('blind', { text: 'pay' }) },
  'an approval that is passed on': { run: tool('asked', { text: 'a fortnight: escalate' }) },
  'a question': { run: step(ASK) },
  'a question with a default': { run: step({ ...ASK, deadline: '10d', onDeadline: { then: 'continue', default: { quarter: 'Q3' } } }) },
  'a callback of a step': { run: step({ type: 'wait', callback: 'the word of the bank', deadline: '3w' }) },
  'a callback of a call': { run: tool('order', { text: 'a book' }) },
  'a batch of which a part has come': { run: tool('order', { text: 'books', expect: 3, deadline: '21d', goOn: true }), then: (runId) => rig.send(runId, { kind: 'callback', callbackId: callbackIdOf(runId, 'c1'), eventId: 'e1', payload: { value: 1 } }, { messageId: callbackMessageId(callbackIdOf(runId, 'c1'), 'e1') }) },
  'a time': { run: step({ type: 'wait', for: '30d' }) },
  'a call in doubt': { run: tool('blind', { text: 'x', fail: 'unknown' }) },
  'a budget': { run: { ...tool('look', { text: 'x' }), budget: { calls: 0, wallMs: 1 } } },
  'a run that is paused': { run: step({ type: 'wait', for: '30d' }), then: (runId) => rig.send(runId, { kind: 'pause', reason: 'lunch' }) },
  'a run that is blocked': { run: tool('look', { text: 'x', fail: 'permission' }) },
  'a tool that no worker has': {
    run: { taskQueue: 'lacking', plan: { goal: 'Wait', steps: [{ id: 'ask', title: 'Ask', action: ASK }, { id: 's', title: 'Do it', dependsOn: ['ask'], action: { type: 'tool', tool: 'keyed', args: { text: 'x' } } }] } },
    before: async () => { having = await rig.worker({ taskQueue: 'lacking', env: { LONGHAUL_SERVICE_OUTSIDE: 'http://127.0.0.1:9' } }); },
    then: async (runId) => {
      const { waitId } = await waiting(runId);
      await having.kill();
      await rig.worker({ taskQueue: 'lacking' });
      await rig.send(runId, { kind: 'answer', questionId: waitId, answer: { value: 'yes' } });
      while ((await waiting(runId)).kind !== 'tool') await new Promise((resolve) => { setTimeout(resolve, 50); });
    },
  },
  'a child run that waits for an approval': { run: { agent: PARENT, ...tool('run_agent', { agent: RIG_AGENT, plan: JSON.stringify({ goal: 'Below', steps: [{ id: 'b', title: 'Below', action: { type: 'tool', tool: 'asked', args: { text: 'below' } } }] }) }) } },
};

const BIN = path.join(__dirname, '..', '..', 'bin', 'longhaul.js');
async function cli(...args: string[]): Promise<string> {
  const env = { ...process.env, LONGHAUL_STATE_DIR: rig.stateDir, TEMPORAL_ADDRESS: rig.server.address, NO_COLOR: '1' };
  return (await promisify(execFile)(process.execPath, [BIN, ...args], { cwd: rig.stateDir, env })).stdout;
}

/** With names in place of ids, of the times that the journal says, and of how long ago something was. */
function named(text: string, runId: string, waits: readonly WaitRow[]): string {
  const ids = waits.flatMap(({ waitId, until, run }): [string, string][] => [[waitId, 'ID'], ...(until === null ? [] : [[time(until), 'UNTIL'], [iso(until), 'UNTIL']] as [string, string][]), ...(run === undefined ? [] : [[run, 'CHILD']] as [string, string][])]);
  return [...ids, [runId, 'RUN'] as const].reduce((out, [from, to]) => out.replaceAll(from, to), text).replace(/(asked|looked) +\d+ (?:s|min) ago/g, '$1 AGO');
}

/** The lines from the first that begins with `from` to before the first that begins with `to`, or to the end. */
function between(text: string, from: string, to: string): string {
  const lines = text.split('\n');
  const at = lines.findIndex((line) => line.startsWith(from));
  const end = lines.findIndex((line, i) => i > at && line.startsWith(to));
  return lines.slice(at, end < 0 ? undefined : end).join('\n').trimEnd();
}

/** The page as `runs show` makes it. */
async function pageOf(runId: string): Promise<string> {
  const { row, state, below } = await client.show(runId);
  return stripVTControlCharacters(pageOfRun(row, state, { below, looks: await looksIn(client.events(runId)) }));
}

/** What Temporal's Web UI asks a run for. */
async function detailsOf(runId: string): Promise<string> {
  const { currentDetails } = await rig.client.workflow.getHandle(workflowIdOf(runId)).query<{ currentDetails: string }>('__temporal_workflow_metadata');
  return currentDetails;
}

/** The entry of a run in the inbox. */
const entryOf = (inbox: string, runId: string): string => inbox.split(/\n(?! )/).filter((entry) => entry.includes(`    run ${runId}: `)).join('\n') || '(nobody is asked)';

test('R5.5 R10.7 each kind of wait says to the letter what for, for whom, until when, what then, and the command: on its page, in the inbox and in Temporal', async () => {
  const runs = await Promise.all(Object.entries(KINDS).map(async ([name, { run, before, then }], i) => {
    await before?.();
    const runId = await rig.run({ ...run, runId: `shown-${i}` });
    await waiting(runId);
    await then?.(runId);
    return { name, runId };
  }));
  const parent = runs.find(({ name }) => name.startsWith('a child'))?.runId ?? '';
  const child = (await waiting(parent)).run ?? '';
  const below = await waiting(child);
  const inbox = await cli('inbox');
  let shown = '';
  for (const { name, runId } of runs) {
    const waits = [...((await rig.stores.journal.row(runId))?.waits ?? []), ...(runId === parent ? [below] : [])];
    const parts = [['its page', between(await pageOf(runId), '  waits for', '  plan ')], ['the inbox', entryOf(inbox, runId === parent ? child : runId)], ['Temporal', between(await detailsOf(runId), 'Waits for', 'Plan ')]];
    shown += `===== ${name}\n${parts.map(([where, text]) => `--- ${where}\n${named(text ?? '', runId, waits)}\n`).join('')}`;
  }
  const first = runs[0]?.runId ?? '';
  expect(between(await cli('runs', 'show', first), '  waits for', '  plan ')).toBe(between(await pageOf(first), '  waits for', '  plan '));
  expect(shown).toBe(readFileSync(path.join(__dirname, 'support', 'shown.txt'), 'utf8'));
}, 120_000);
