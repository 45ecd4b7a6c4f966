// How a run looks from outside: its status, its list row and its page (what it waits for is waits.ts). Pure projections of state, so
// that lists, the inbox, search attributes and Temporal's Web UI all say the same.
import { iso } from './iso';
import { callbacksOf, callsOf, isFull, stepOf } from './lookups';
import { budgetLeft } from './rules/budgets';
import { isLookDue } from './rules/children';
import { wordsOfGrant } from './rules/grants';
import { LIMITS } from './run';
import type { RunRow, WaitRow } from './row';
import type { State } from './state';
import { commandDoes, forWhom, thenWords, waitsOf } from './waits';

export function statusOf(state: State): RunRow['status'] {
  if (state.version === 0) return 'accepted';
  if (state.end) return state.end.status;
  if (state.cancel) return 'cancelling';
  if (state.blocked || state.exhausted.length > 0) return 'blocked';
  if (state.paused) return 'paused';
  return busy(state) || waitsOf(state).length === 0 ? 'running' : 'waiting';
}

/** Is anything under way that nobody has to be waited for? */
function busy(state: State): boolean {
  const prepares = state.steps.some((step) => step.status === 'pending' && step.action.type === 'tool'
    && step.dependsOn.every((id) => stepOf(state, id)?.status === 'done') && (step.wakeAt ?? 0) <= state.at);
  return prepares || callbacksOf(state).some((entry) => (entry.open && isFull(entry)) || isLookDue(entry, state.at)) || callsOf(state).some((call) => call.phase === 'sent' || (call.phase === 'doubt' && call.dueAt <= state.at));
}

/** One sentence on the end, or on what is going on. */
function detailOf(state: State, waits: WaitRow[]): string {
  if (state.end) return state.end.summary;
  if (state.cancel) return `Cancelling: ${state.cancel.reason}`;
  const wait = waits[0];
  if (wait) return `Waits for ${wait.what}`;
  const open = callsOf(state).filter((call) => call.phase === 'sent').map((call) => (call.kind === 'model' ? 'the model' : call.tool));
  return open.length > 0 ? `Runs ${open.join(', ')}` : 'Running';
}

function progress(state: State): { done: number; total: number } {
  const before = state.settledBefore;
  const done = state.steps.filter((step) => step.status === 'done').length + before.done;
  return { done, total: state.steps.length + before.done + before.failed + before.skipped };
}

/** The list row that is written with every batch. */
export function rowOf(state: State): RunRow {
  const waits = waitsOf(state);
  const ends = waits.map((wait) => wait.until).filter((until): until is number => until !== null);
  return {
    runId: state.runId, title: state.title, agent: `${state.agent.name}@${state.agent.version}`, owner: state.owner,
    status: statusOf(state), outcome: state.end?.outcome ?? null, detail: detailOf(state, waits).slice(0, 500), waits,
    deadline: ends.length > 0 ? Math.min(...ends) : null, budgetLeft: budgetLeft(state), steps: progress(state),
    epoch: state.epoch, version: state.version, inputDigest: state.inputDigest, inputRef: state.inputRef,
    createdAt: state.createdAt, updatedAt: state.at,
  };
}

const MARKS = { pending: '[ ]', active: '[>]', done: '[x]', failed: '[!]', skipped: '[-]' } as const;
const PAGE_STEPS = 40;
const PAGE_WAITS = 10;
/** As code in Markdown, which nothing in the text ends. */
const code = (text: string): string => `\`${text.replaceAll('`', "'")}\``;

/** The run as a short page of Markdown: plan with marks, what it waits for, who, until when, what then, the command that decides. */
export function pageOf(state: State): string {
  const waits = waitsOf(state);
  const lines = [`**${state.title || state.runId}** is ${statusOf(state)}.`];
  if (waits.length === 0) lines.push('', detailOf(state, waits));
  for (const wait of waits.slice(0, PAGE_WAITS)) {
    lines.push('', `Waits for **${wait.what}**`, '', ...(wait.args === undefined ? [] : [`- with: ${code(wait.args)}`]), `- for whom: ${forWhom(wait)}`);
    if (wait.risk) lines.push(`- effect: ${wait.risk}`);
    lines.push(`- until: ${wait.until === null ? 'no end' : iso(wait.until)}${wait.reminded ? `, reminded ${wait.reminded}×` : ''}`, `- what then: ${thenWords(wait)}`);
    if (wait.kind === 'approval') lines.push(`- look: ${code(`npx longhaul approvals show ${wait.waitId}`)}`);
    lines.push(`- ${commandDoes(wait)}: ${[wait.command, ...(wait.or ?? [])].map((command) => code(`npx ${command}`)).join(' or ')}`);
  }
  for (const grant of state.grants ?? []) lines.push('', `Approved by ${grant.by.id} for later calls: ${wordsOfGrant(grant)}, used ${grant.uses}×; end it with \`npx longhaul approvals revoke ${grant.grantId}\``);
  lines.push('', `Plan ${state.plan.version}: ${state.plan.goal.slice(0, LIMITS.summaryBytes)}`, '');
  const shown = state.steps.slice(-PAGE_STEPS);
  if (shown.length < state.steps.length) lines.push(`- (${state.steps.length - shown.length} earlier steps)`);
  for (const step of shown) lines.push(`- ${MARKS[step.status]} ${step.id}: ${step.title}${step.failure ? ` (${step.failure.class})` : ''}`);
  const left = Object.entries(budgetLeft(state)).map(([kind, n]) => `${kind} ${n}`);
  if (left.length > 0) lines.push('', `Budget left: ${left.join(', ')}`);
  return lines.join('\n');
}
