// What a run waits for, as lists, the inbox, its page and Temporal's Web UI show it: what, for whom, until when, what then, and the
// exact command. Pure projections of state, and the words for them, so that all of them say the same. Decides nothing.
import { contractOf } from './keys';
import { callbacksOf, callOf, callsOf, isFull, isSettled, stepOf, toolOf, votesAt } from './lookups';
import type { OnDeadline } from './plan';
import type { WaitRow } from './row';
import { wordsOfCallback } from './rules/callbacks';
import { doubtWords } from './rules/forking';
import type { Output } from './run';
import { shownArgs } from './sensitive';
import type { ApprovalState, CallbackState, State } from './state';

/** Characters of a description, of arguments and of a default that are shown. */
const WHAT = 300;
const ARGS = 160;
const DEFAULT = 60;

/** Everything that the run waits for, soonest end first. */
export function waitsOf(state: State): WaitRow[] {
  if (state.end) return [];
  const rows = [...asks(state), ...callbacks(state), ...stops(state), ...times(state)];
  return rows.sort((a, b) => (a.until ?? Infinity) - (b.until ?? Infinity) || (a.waitId < b.waitId ? -1 : 1));
}

function asks(state: State): WaitRow[] {
  const { runId } = state;
  const questions = Object.values(state.questions).map((asked): WaitRow => ({
    waitId: asked.questionId, kind: 'question', ...reminded(asked), what: cut(asked.question, WHAT), who: asked.who ?? [], ...endOf(asked),
    since: asked.askedAt, command: `longhaul answer ${asked.questionId} TEXT`,
  }));
  const decisions = Object.values(state.decisions).map((asked): WaitRow => ({
    waitId: asked.decisionId, kind: 'decision', ...aboutCall(state, asked.callId, asked.tool), what: cut(`whether ${asked.tool} ${asked.callId} happened: ${asked.why}`, WHAT), who: [], until: null,
    then: 'nothing', since: asked.askedAt, command: `longhaul resolve ${runId} ${asked.callId} --happened REFERENCE`,
    or: ['--not-happened', '--give-up'].map((verdict) => `longhaul resolve ${runId} ${asked.callId} ${verdict}`),
  }));
  return [...Object.values(state.approvals).map((asked) => approvalRow(state, asked)), ...questions, ...decisions];
}

function approvalRow(state: State, asked: ApprovalState): WaitRow {
  const { approvalId, binding, rule } = asked;
  const step = stepOf(state, asked.stepId);
  const doubt = step ? doubtWords(state, step, binding.argsDigest) : null;
  return {
    waitId: approvalId, kind: 'approval', ...aboutCall(state, asked.callId, binding.tool), ...reminded(asked), what: `approval of ${binding.tool} (${step?.title ?? asked.callId})`,
    ...(doubt === null ? {} : { doubt: cut(doubt, WHAT) }),
    who: rule.approvers, ...(rule.ownerMay ? {} : { not: state.owner.id }), ...(rule.quorum > 1 ? { quorum: rule.quorum, granted: votesAt(asked, state.at).granted.map(({ id }) => id) } : {}), ...endOf(asked),
    since: asked.askedAt, command: `longhaul approvals approve ${approvalId}`, or: [`longhaul approvals reject ${approvalId} --reason TEXT`],
  };
}

function callbacks(state: State): WaitRow[] {
  return callbacksOf(state).filter((entry) => entry.open && !isFull(entry)).map((entry): WaitRow => {
    const { callbackId, callId, expect, onDeadline, askedAt, child } = entry;
    const base = { waitId: callbackId, what: cut(wordsOfCallback(state, entry), WHAT), who: [], since: askedAt };
    if (child !== undefined) return { ...base, kind: 'run', run: child, until: null, then: 'nothing', command: `longhaul runs show ${child}` };
    const risk = callId === undefined ? undefined : toolOf(state, callOf(state, callId)?.tool ?? '')?.effect;
    const partial = expect !== null && onDeadline.then === 'continue' && entry.expiresAt !== null;
    return {
      ...base, kind: 'callback', ...(risk ? { risk } : {}), ...reminded(entry), ...(partial ? { until: entry.expiresAt, then: 'goes on with what has come' } : endOf(entry)),
      command: `longhaul callback ${callbackId} --event-id ID${expect === null ? '' : ' --item KEY'} --payload JSON`,
    };
  });
}

/** The end of a wait and what comes then: who is asked next, or the default that it goes on with. */
function endOf({ expiresAt, onDeadline }: { expiresAt: number | null; onDeadline: OnDeadline }): Pick<WaitRow, 'until' | 'then' | 'next'> {
  if (expiresAt === null) return { until: null, then: 'nothing' };
  const next = onDeadline.then === 'escalate' ? onDeadline.escalateTo.join(', ') : onDeadline.then === 'continue' ? cut(JSON.stringify(onDeadline.default), DEFAULT) : undefined;
  return { until: expiresAt, then: onDeadline.then, ...(next === undefined ? {} : { next }) };
}

const reminded = (asked: Pick<CallbackState, 'reminded'>): { reminded?: number } => (asked.reminded ? { reminded: asked.reminded } : {});

/** What a call does to the outside, and with which arguments; those that its tool names as sensitive are left out. */
function aboutCall(state: State, callId: string, name: string): Pick<WaitRow, 'risk' | 'args'> {
  const tool = toolOf(state, name);
  const args = callOf(state, callId)?.args;
  return { risk: tool?.effect ?? 'irreversible', ...(args ? { args: wordsOfArgs(args, tool?.sensitive) } : {}) };
}

const wordsOfArgs = (args: Output, sensitive: string[] | undefined): string =>
  ('value' in args ? cut(JSON.stringify(shownArgs(args.value, sensitive)), ARGS) : `${args.ref.bytes} bytes, artifact ${args.ref.sha256.slice(0, 16)}`);

/** One line of at most `most` characters. */
function cut(text: string, most: number): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

/** The kinds of a budget as the command line names them, each with an amount to be filled in. */
const MORE: Record<string, string> = { microUsd: 'usd=DOLLARS', wallMs: 'wall=TIME' };

function stops(state: State): WaitRow[] {
  const { runId, at } = state;
  const row = (kind: WaitRow['kind'], what: string, ...[command = '', ...or]: string[]): WaitRow =>
    ({ waitId: `${kind}-${runId}`, kind, what: cut(what, WHAT), who: [], until: null, then: 'nothing', since: at, command, ...(or.length > 0 ? { or } : {}) });
  const out: WaitRow[] = [];
  const settle = (as: string): string => `longhaul runs settle ${runId} --as ${as}`;
  if (state.blocked) out.push(row('blocked', `a decision: ${state.blocked.why}`, settle('retry'), settle('partial'), settle('fail'), ...state.blocked.steps.slice(0, 5).map((step) => settle(`skip --step ${step}`))));
  if (state.exhausted.length > 0) {
    const more = state.exhausted.map((kind) => MORE[kind] ?? `${kind}=N`).join(',');
    out.push(row('budget', `more budget: ${state.exhausted.map((kind) => (MORE[kind] ?? kind).replace(/=.*/, '')).join(', ')} used up`, `longhaul runs extend ${runId} --budget ${more}`, settle('partial'), settle('fail')));
  }
  if (state.paused) out.push(row('paused', `somebody to resume it; paused by ${state.paused.actor.id}${state.paused.reason ? `: ${state.paused.reason}` : ''}`, `longhaul runs resume ${runId}`));
  return out;
}

function times(state: State): WaitRow[] {
  const out: WaitRow[] = [];
  const row = (waitId: string, kind: 'time' | 'retry', what: string, until: number, since: number): WaitRow =>
    ({ waitId, kind, what, who: [], until, then: 'goes on', since, command: `longhaul runs cancel ${state.runId}` });
  const lacks = (waitId: string, contracts: string[], since: number): WaitRow => ({
    waitId, kind: 'tool', what: cut(`a worker that has the tool ${contracts.join(', ')}`, WHAT), who: [], until: null, then: 'goes on by itself once one has', since, command: 'longhaul doctor',
  });
  for (const call of callsOf(state)) {
    if (call.phase !== 'ready' && call.phase !== 'doubt') continue;
    if (call.missing) out.push(lacks(`tool-${call.callId}`, call.lacks ?? [contractOf(call.tool, call.version)], call.requestedAt));
    else if (call.dueAt > state.at) out.push(row(`retry-${call.callId}`, 'retry', call.phase === 'ready' ? `the next attempt at ${call.tool}` : `another look for ${call.tool}`, call.dueAt, call.requestedAt));
  }
  for (const step of state.steps) {
    if (step.wakeAt === undefined || isSettled(step) || (step.wakeAt <= state.at && !step.missing)) continue;
    if (step.missing && step.action.type === 'tool') {
      out.push(lacks(`tool-${step.id}`, [contractOf(step.action.tool, toolOf(state, step.action.tool)?.version ?? '0')], state.at));
      continue;
    }
    const [kind, what] = step.action.type === 'wait' ? ['time', `its time (${step.title})`] as const : ['retry', `the next attempt to prepare it (${step.title})`] as const;
    out.push(row(`time-${step.id}`, kind, what, step.wakeAt, state.at));
  }
  return out;
}

/** Whom a wait is for, in words. */
export function forWhom({ kind, who, not, quorum, granted = [] }: WaitRow): string {
  if (kind === 'callback') return 'whoever outside was given the id';
  if (kind === 'run') return 'nobody here: that run ends, or waits for what it shows';
  if (kind === 'tool') return 'whoever runs the workers';
  if (kind === 'time' || kind === 'retry') return 'nobody has to do anything';
  const named = who.filter((name) => name !== not);
  const base = who.length > 0 ? named.join(', ') || 'nobody who may' : not === undefined ? 'anyone who may reach this run' : `anyone but ${not}, who asked for it`;
  return quorum === undefined ? base : `${base}; ${quorum} people must approve, so far ${granted.join(', ') || 'nobody has'}`;
}

/** What happens at the end of a wait, in words. */
export function thenWords({ then, next }: Pick<WaitRow, 'then' | 'next'>): string {
  switch (then) {
    case 'cancel-run': return 'the run is cancelled';
    case 'fail-step': return 'the step fails';
    case 'ask-again': return 'it is asked again';
    case 'escalate': return `it is passed on to ${next ?? 'others'}`;
    case 'continue': return `it goes on with the default${next === undefined ? '' : ` ${next}`}`;
    case 'goes on': return 'it goes on by itself';
    case 'nothing': return 'nothing by itself';
    default: return `it ${then}`;
  }
}

/** What the command of a wait does, in a word or two. */
export function commandDoes({ kind }: WaitRow): string {
  if (kind === 'callback') return 'call back';
  return kind === 'run' || kind === 'tool' ? 'look' : kind === 'time' || kind === 'retry' ? 'stop it' : 'decide';
}
