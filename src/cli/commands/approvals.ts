// `longhaul approvals list|show`, `answer`, `resolve`: what people are asked, and their answers. Deciding approvals is
// approvals-act.ts, the inbox inbox.ts. Decides nothing itself.
import type { Command } from 'commander';
import type { EventOf, RunEvent } from '../../core/events';
import type { Output } from '../../core/run';
import { forWhom, thenWords } from '../../core/waits';
import { shownArgs } from '../../core/sensitive';
import { act } from '../act';
import { decide } from '../decisions';
import { EXIT, Stop } from '../exit';
import { deciding, MOST, reading, saidIn, upTo, type CommonOptions, type DeciderOptions } from '../options';
import { outputOf } from '../outputs';
import { actorName, waitLines } from '../page';
import type { Place } from '../place';
import { command, data, distance, json, line, say, table, time } from '../print';
import { addApprovalsAct } from './approvals-act';
import { addInbox, jsonOf, type Open } from './inbox';

function openRows(rows: Open[], options: CommonOptions, nothing: string): void {
  if (options.json) return rows.forEach(jsonOf);
  if (rows.length === 0) return say(nothing);
  table(['ID', 'KIND', 'RUN', 'WHAT', 'WHO', 'UNTIL', 'THEN'], rows.map(({ run, wait }) => [
    wait.waitId, wait.kind, run.runId, line(wait.what, 60), forWhom(wait), wait.until === null ? 'no end' : distance(wait.until), thenWords(wait),
  ]));
}

async function list(place: Place, options: CommonOptions): Promise<void> {
  const rows = await (await place.client()).inbox();
  openRows(rows.filter(({ wait }) => wait.kind === 'approval'), options, 'No approval is open.');
}

type Decided = Extract<RunEvent, { type: 'ApprovalGranted' | 'ApprovalRejected' | 'ApprovalExpired' | 'ApprovalVoided' }>;

const about = (approvalId: string) => (event: RunEvent): boolean => 'approvalId' in event.data && event.data.approvalId === approvalId;

async function show(place: Place, approvalId: string, options: CommonOptions): Promise<void> {
  const client = await place.client();
  const runId = await client.runOf(approvalId);
  const events: RunEvent[] = [];
  for await (const event of client.events(runId)) events.push(event);
  const asked = events.find((event): event is EventOf<'ApprovalRequested'> => event.type === 'ApprovalRequested' && event.data.approvalId === approvalId);
  if (!asked) throw new Stop(EXIT.error, `${approvalId} is no approval: see \`npx longhaul inbox\`.`);
  const decided = events.filter((event): event is Decided => event.type !== 'ApprovalRequested' && event.type.startsWith('Approval') && about(approvalId)(event));
  const prepared = events.find((event): event is EventOf<'CallPrepared'> => event.type === 'CallPrepared' && event.data.callId === asked.data.callId);
  const preview = asked.data.previewRef ?? prepared?.data.previewRef;
  const text = preview ? new TextDecoder().decode(await (await place.stores()).artifacts.read(preview.sha256)) : null;
  const { row } = await client.show(runId);
  const { step, effect, sensitive } = stepAndTool(events, asked, prepared);
  const open = row.waits.find((wait) => wait.waitId === approvalId);
  if (options.json) return json({ runId, ...asked.data, call: prepared ? { ...prepared.data, args: shownOutput(prepared.data.args, sensitive) } : null, step: step ?? null, effect: effect ?? null, open: open !== undefined, decided: decided.map(({ type, at, actor, data: what }) => ({ type, at, actor, ...what })), preview: text });
  data([
    `${approvalId} of run ${runId} (${row.title})`,
    ...(step ? [`  step         ${step.id}: ${step.title}`] : []),
    `  call         ${asked.data.callId} ${asked.data.binding.tool} ${asked.data.binding.version}, rule ${asked.data.rule.rule}, ${asked.data.rule.quorum} must approve`,
    ...(effect ? [`  effect       ${effect}`] : []),
    `  arguments    ${prepared ? argsLine(prepared, sensitive) : ''} (digest ${asked.data.binding.argsDigest.slice(0, 16)})`,
    ...(asked.data.binding.resourceVersion === null ? [] : [`  changes      ${asked.data.binding.resourceVersion}`]),
    ...(open ? waitLines(open) : [`  asked        ${time(asked.at)}, open until ${time(asked.data.expiresAt)}`]),
    ...decided.map((event) => `  ${event.type.replace('Approval', '').toLowerCase().padEnd(12)} ${time(event.at)} by ${deciderOf(event)}`),
    ...(text === null ? [] : ['', text]),
  ].join('\n'));
}

/** Whose word it is: what stands by a grant or an edit is written by the run, and is that person's all the same. */
function deciderOf(event: Decided): string {
  if (event.type !== 'ApprovalGranted') return actorName(event.actor);
  return `${event.data.actors.map(actorName).join(', ')}${event.data.grantId === undefined ? '' : ` (grant ${event.data.grantId})`}`;
}

/** The step that asks, from the plan; what its tool does to the outside, and which arguments it hides, from the agent's manifest. */
function stepAndTool(events: RunEvent[], { data: { binding } }: EventOf<'ApprovalRequested'>, prepared: EventOf<'CallPrepared'> | undefined): { step?: { id: string; title: string }; effect?: string; sensitive?: string[] } {
  const outline = events.flatMap((event) => (event.type === 'PlanAccepted' ? event.data.add : [])).filter(({ id }) => id === prepared?.data.stepId).at(-1);
  const tools = events.flatMap((event) => (event.type === 'RunCreated' ? event.data.agent.tools : []));
  const tool = tools.find(({ name }) => name === binding.tool);
  return { ...(outline ? { step: { id: outline.id, title: outline.title } } : {}), ...(tool ? { effect: tool.effect, sensitive: tool.sensitive } : {}) };
}

const shownOutput = (args: Output, sensitive?: string[]): Output => ('value' in args ? { value: shownArgs(args.value, sensitive) } : args);

function argsLine({ data: { args } }: EventOf<'CallPrepared'>, sensitive?: string[]): string {
  // Whole, since it is what is decided about. Larger ones are an artifact, in which nothing is hidden.
  if ('value' in args) return JSON.stringify(shownArgs(args.value, sensitive));
  const id = args.ref.sha256.slice(0, 16);
  return `artifact ${id} (${args.ref.bytes} bytes)${sensitive?.length ? '' : `: ${command(`longhaul artifacts cat ${id}`)}`}`;
}

async function answer(place: Place, questionId: string, text: string, options: DeciderOptions): Promise<number> {
  const value = saidIn('TEXT', text);
  const output = await outputOf(place, value, `Answer to ${questionId}`);
  return decide(place, await (await place.client()).runOf(questionId), { kind: 'answer', questionId, answer: output }, options);
}

interface ResolveOptions extends DeciderOptions { happened?: string; notHappened?: boolean; giveUp?: boolean }

async function resolve(place: Place, runId: string, callId: string, options: ResolveOptions): Promise<number> {
  const given = [options.happened !== undefined, options.notHappened === true, options.giveUp === true].filter(Boolean).length;
  if (options.happened?.trim() === '') throw new Stop(EXIT.usage, '--happened needs a reference: where it can be seen that it took effect, e.g. a number of the other side.');
  if (given !== 1) throw new Stop(EXIT.usage, 'Say exactly one of: --happened REFERENCE (it took effect), --not-happened (send it again), --give-up (nobody knows).');
  const verdict = options.happened !== undefined ? 'happened' : options.notHappened ? 'not-happened' : 'give-up';
  return decide(place, runId, { kind: 'resolve', callId, verdict, ...(options.happened === undefined ? {} : { reference: options.happened }) }, options);
}

/** Adds `approvals`, `answer`, `resolve` and `inbox`. */
export function addApprovals(program: Command): void {
  const approvals = program.command('approvals').description('calls that wait for an approval');
  reading(approvals.command('list').description('open approvals, soonest end first')).action(act(list, ([options]) => options));
  reading(approvals.command('show').argument('<id>').description('what is asked, with the preview of what would change')).action(act(show, ([, options]) => options));
  addApprovalsAct(approvals);
  deciding(program.command('answer').argument('<question>', 'the id of the question').argument('<text>', 'text, or @FILE').description('answer a question of a run'))
    .action(act(answer, ([, , options]) => options));
  deciding(program.command('resolve').argument('<run>').argument('<call>').description('say whether a call of unknown outcome happened'))
    .option('--happened <reference>', 'it took effect; how that is known', upTo('--happened', MOST.reference)).option('--not-happened', 'it did not; it may be sent again').option('--give-up', 'nobody knows; its step fails')
    .action(act(resolve, ([, , options]) => options));
  addInbox(program);
}
