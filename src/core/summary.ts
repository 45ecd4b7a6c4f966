// How a run looks from outside: its status, what it waits for, its list row and its page. Pure projections of state, so that
// lists, the inbox, search attributes and Temporal's Web UI all say the same.
import { iso } from './iso';
import { contractOf } from './keys';
import { callbacksOf, callOf, callsOf, isFull, isSettled, stepOf, toolOf } from './lookups';
import { budgetLeft } from './rules/budgets';
import { wordsOfCallback } from './rules/callbacks';
import { isLookDue } from './rules/children';
import { wordsOfGrant } from './rules/grants';
import { LIMITS } from './run';
import type { RunRow, WaitRow } from './row';
import type { State } from './state';

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

/** Everything that the run waits for, soonest end first. */
export function waitsOf(state: State): WaitRow[] {
  if (state.end) return [];
  const rows = [...asks(state), ...stops(state), ...times(state)];
  return rows.sort((a, b) => (a.until ?? Infinity) - (b.until ?? Infinity) || (a.waitId < b.waitId ? -1 : 1));
}

function asks(state: State): WaitRow[] {
  const { runId } = state;
  const approvals = Object.values(state.approvals).map((asked): WaitRow => ({
    waitId: asked.approvalId, kind: 'approval', risk: toolOf(state, asked.binding.tool)?.effect ?? 'irreversible', ...reminded(asked), what: `approval of ${asked.binding.tool} (${stepOf(state, asked.stepId)?.title ?? asked.callId})`,
    who: asked.rule.approvers, until: asked.expiresAt, then: asked.onDeadline.then, since: asked.askedAt,
    command: `longhaul approvals approve ${asked.approvalId}`,
  }));
  const questions = Object.values(state.questions).map((asked): WaitRow => ({
    waitId: asked.questionId, kind: 'question', ...reminded(asked), what: asked.question.slice(0, 300), who: asked.who ?? [], until: asked.expiresAt, then: asked.expiresAt === null ? 'nothing' : asked.onDeadline.then,
    since: asked.askedAt, command: `longhaul answer ${asked.questionId} TEXT`,
  }));
  const decisions = Object.values(state.decisions).map((asked): WaitRow => ({
    waitId: asked.decisionId, kind: 'decision', risk: toolOf(state, asked.tool)?.effect ?? 'irreversible', what: `whether ${asked.tool} ${asked.callId} happened: ${asked.why}`.slice(0, 300), who: [], until: null,
    then: 'nothing', since: asked.askedAt, command: `longhaul resolve ${runId} ${asked.callId} --happened REF | --not-happened | --give-up`,
  }));
  return [...approvals, ...questions, ...decisions, ...callbacks(state)];
}

function callbacks(state: State): WaitRow[] {
  return callbacksOf(state).filter((entry) => entry.open && !isFull(entry)).map((entry): WaitRow => {
    const { callbackId, callId, expect, expiresAt, onDeadline, askedAt, child } = entry;
    if (child !== undefined) return { waitId: callbackId, kind: 'run', run: child, what: wordsOfCallback(state, entry).slice(0, 300), who: [], until: null, then: 'nothing', since: askedAt, command: `longhaul runs show ${child}` };
    const risk = callId === undefined ? undefined : toolOf(state, callOf(state, callId)?.tool ?? '')?.effect;
    const then = expect !== null && onDeadline.then === 'continue' ? 'goes on with what has come' : onDeadline.then;
    return {
      waitId: callbackId, kind: 'callback', ...(risk ? { risk } : {}), ...reminded(entry), what: wordsOfCallback(state, entry).slice(0, 300), who: [], until: expiresAt, then: expiresAt === null ? 'nothing' : then,
      since: askedAt, command: `longhaul callback ${callbackId} --event-id ID${expect === null ? '' : ' --item KEY'} --payload JSON`,
    };
  });
}

const reminded = (asked: { reminded?: number }): { reminded?: number } => (asked.reminded ? { reminded: asked.reminded } : {});

function stops(state: State): WaitRow[] {
  const { runId, at } = state;
  const row = (kind: WaitRow['kind'], what: string, command: string): WaitRow =>
    ({ waitId: `${kind}-${runId}`, kind, what, who: [], until: null, then: 'nothing', since: at, command });
  const out: WaitRow[] = [];
  if (state.blocked) out.push(row('blocked', `a decision: ${state.blocked.why}`.slice(0, 300), `longhaul runs settle ${runId} --as partial|retry|fail${state.blocked.steps.length > 0 ? ' (or --as skip --step STEP)' : ''}`));
  if (state.exhausted.length > 0) out.push(row('budget', `more budget: ${state.exhausted.join(', ')} used up`, `longhaul runs extend ${runId} --budget ${state.exhausted[0]}=N`));
  if (state.paused) out.push(row('paused', `somebody to resume it; paused by ${state.paused.actor.id}${state.paused.reason ? `: ${state.paused.reason}` : ''}`, `longhaul runs resume ${runId}`));
  return out;
}

function times(state: State): WaitRow[] {
  const out: WaitRow[] = [];
  const lacks = (waitId: string, contracts: string[], since: number): WaitRow => ({
    waitId, kind: 'tool', what: `a worker that has the tool ${contracts.join(', ')}`.slice(0, 300), who: [], until: null, then: 'goes on by itself once one has', since, command: 'longhaul doctor',
  });
  for (const call of callsOf(state)) {
    if (call.phase !== 'ready' && call.phase !== 'doubt') continue;
    if (call.missing) {
      out.push(lacks(`tool-${call.callId}`, call.lacks ?? [contractOf(call.tool, call.version)], call.requestedAt));
      continue;
    }
    if (call.dueAt <= state.at) continue;
    const what = call.phase === 'ready' ? `the next attempt at ${call.tool}` : `another look for ${call.tool}`;
    out.push({ waitId: `retry-${call.callId}`, kind: 'retry', what, who: [], until: call.dueAt, then: 'goes on', since: call.requestedAt, command: `longhaul runs cancel ${state.runId}` });
  }
  for (const step of state.steps) {
    if (step.wakeAt === undefined || isSettled(step) || (step.wakeAt <= state.at && !step.missing)) continue;
    if (step.missing && step.action.type === 'tool') {
      out.push(lacks(`tool-${step.id}`, [contractOf(step.action.tool, toolOf(state, step.action.tool)?.version ?? '0')], state.at));
      continue;
    }
    const kind = step.action.type === 'wait' ? 'time' : 'retry';
    out.push({ waitId: `time-${step.id}`, kind, what: step.title, who: [], until: step.wakeAt, then: 'goes on', since: state.at, command: `longhaul runs cancel ${state.runId}` });
  }
  return out;
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

/** The run as a short page of Markdown: plan with marks, what it waits for, who, until when, what then, the command that decides. */
export function pageOf(state: State): string {
  const waits = waitsOf(state);
  const lines = [`**${state.title || state.runId}** is ${statusOf(state)}.`];
  if (waits.length === 0) lines.push('', detailOf(state, waits));
  for (const wait of waits.slice(0, PAGE_WAITS)) {
    lines.push('', `Waits for **${wait.what}**`, '', `- who: ${wait.who.length > 0 ? wait.who.join(', ') : 'anyone who may reach this run'}`);
    if (wait.risk) lines.push(`- effect: ${wait.risk}`);
    lines.push(`- until: ${wait.until === null ? 'no end' : iso(wait.until)}${wait.reminded ? `, reminded ${wait.reminded}×` : ''}`, `- then: ${wait.then}`, `- decide: \`npx ${wait.command}\``);
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
