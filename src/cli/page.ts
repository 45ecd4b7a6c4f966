// A run as a page for people: what it waits for, for whom, until when, what then, and the command that decides; the plan with
// marks; budget left; artifacts; how it ended. The same facts as Temporal's Web UI shows (core/summary.ts).
import pc from 'picocolors';
import { isSettled } from '../core/lookups';
import type { RunRow, WaitRow } from '../core/row';
import { inheritedDoubts } from '../core/rules/forking';
import { wordsOfGrant } from '../core/rules/grants';
import type { State, StepState } from '../core/state';
import { commandDoes, forWhom, thenWords } from '../core/waits';
import type { LedgerRow } from '../ports/ledger';
import { redactText } from '../ports/redaction';
import { keyBack, restoreCommand } from './executions';
import { budgetWords, command, count, distance, line, time } from './print';
import { verdictLines, type Look } from './verdicts';

const MARKS: Record<StepState['status'], string> = { pending: '[ ]', active: '[>]', done: '[x]', failed: '[!]', skipped: '[-]' };

/** Who did something, and how far that is proved: `claimed` is nobody's word but the sender's, a token is the word of who made it. */
export function actorName({ id, assurance, proof }: { id: string; assurance: string; proof?: { kid: string; iss: string } }): string {
  if (assurance === 'claimed') return `${id} (unauthenticated)`;
  return proof ? `${id} (signed by ${proof.iss}, key ${proof.kid})` : id;
}

export function waitLines(wait: WaitRow): string[] {
  return [
    `  ${pc.bold(`waits for ${line(wait.what, 200)}`)}`,
    ...(wait.args === undefined ? [] : [`    with         ${redactText(wait.args)}`]),
    ...(wait.doubt === undefined ? [] : [`    second time? ${line(wait.doubt, 300)}`]),
    `    for whom     ${forWhom(wait)}`,
    ...(wait.risk ? [`    effect       ${wait.risk}`] : []),
    `    until        ${wait.until === null ? 'no end' : `${time(wait.until)} (${distance(wait.until)})`}${wait.reminded ? `, reminded ${count(wait.reminded, 'time')}` : ''}`,
    `    what then    ${thenWords(wait)}`,
    ...(wait.kind === 'approval' ? [`    look         ${command(`longhaul approvals show ${wait.waitId}`)}`] : []),
    `    ${commandDoes(wait).padEnd(12)} ${command(wait.command)}`,
    ...(wait.or ?? []).map((other) => `    or           ${command(other)}`),
  ];
}

export interface PageExtras {
  /** How Temporal lost the run, when nothing runs it although it is open. */
  lost?: string | null;
  /** Which payload key is missing, when Temporal cannot go on with the open run without it. */
  missingKey?: string | null;
  /** The run's rows of the ledger: what came of a call after the run was over. */
  ledger?: readonly LedgerRow[];
  /** The newest look at each call that somebody has to decide about. */
  looks?: ReadonlyMap<string, Look>;
  /** What the runs below it wait for. */
  below?: readonly { run: RunRow; wait: WaitRow }[];
}

/** The page of a run. */
export function pageOfRun(row: RunRow, state: State, { lost = null, missingKey = null, ledger = [], looks, below = [] }: PageExtras = {}): string {
  const lines = [
    `${pc.bold(row.title)}`,
    `  run          ${row.runId}`,
    `  agent        ${row.agent}, for ${actorName(row.owner)}`,
    `  status       ${pc.bold(row.status)}${row.outcome ? ` (${row.outcome})` : ''}: ${line(row.detail, 200)}`,
    `  times        accepted ${time(row.createdAt)}, last event ${distance(row.updatedAt)}`,
    `  epoch        ${row.epoch}, ${count(row.version, 'event')}`,
    ...(state.version > 0 ? [`  pinned       build ${state.pins.build}, law ${state.law}, event schema ${state.pins.eventSchema}, ${state.pins.model ?? 'no model'}`] : []),
    ...(state.pins.mode === 'production' ? ['  mode         production: who decides about a manual or irreversible effect signs'] : []),
  ];
  lines.push(...forkLines(state));
  if (lost !== null) lines.push('', `  ${pc.yellow(`nothing runs it: it is ${lost}, and what it waits for counts only once it is restored`)}`, `    next         ${command(restoreCommand(row.runId))}`);
  if (missingKey !== null) lines.push('', `  ${pc.yellow(`missing key: ${missingKey}, so that nothing goes on; nothing is lost`)}`, `    next         ${pc.cyan(keyBack(row.runId))}`);
  for (const wait of row.waits) lines.push('', ...waitLines(wait), ...verdictLines(looks?.get(state.decisions[wait.waitId]?.callId ?? '')));
  for (const { run, wait } of below) lines.push('', `  below it, run ${run.runId} (${run.agent})`, ...waitLines(wait));
  lines.push(...grantLines(state), ...planLines(state), ...budgetLines(row), ...artifactLines(state), ...reportLines(state), ...lateLines(state, ledger));
  return lines.join('\n');
}

/** Where a fork comes from, and what its parent had done: none of that is this run's to repeat or to take back. */
function forkLines(state: State): string[] {
  const { forked, steps } = state;
  if (!forked) return [];
  const done = new Set(steps.flatMap(({ id, status }) => (status === 'done' ? [id] : [])));
  const doubts = inheritedDoubts(state).filter(({ stepId }) => !done.has(stepId)).map(({ runId, stepId, callId, why }) => `    not known    whether ${runId} did step ${stepId} (${callId}): ${line(why, 120)}`);
  const more = forked.more > 0 ? [`    ${count(forked.more, 'more effect')}: ${command(`longhaul runs events ${forked.runId}`)}`] : [];
  return [`  forked from  ${forked.runId} after event ${forked.at}`, ...forked.effects.map((what) => `    done there   ${what}`), ...more, ...doubts];
}

function grantLines({ grants = [], end }: State): string[] {
  if (end || grants.length === 0) return [];
  return ['', '  standing approvals', ...grants.flatMap((grant) => [
    `    ${grant.grantId}  by ${actorName(grant.by)}: ${wordsOfGrant(grant)}, used ${count(grant.uses, 'time')}`, `      end it       ${command(`longhaul approvals revoke ${grant.grantId}`)}`,
  ])];
}

function planLines(state: State): string[] {
  if (state.steps.length === 0) return [];
  const before = state.settledBefore.done + state.settledBefore.failed + state.settledBefore.skipped;
  const lines = ['', `  plan         version ${state.plan.version}${state.plan.goal ? `: ${line(state.plan.goal, 120)}` : ''}`];
  if (before > 0) lines.push(`    (${count(before, 'earlier step')})`);
  for (const step of state.steps) {
    const why = step.failure ? pc.yellow(` (${step.failure.class}: ${line(step.failure.message, 80)})`) : '';
    lines.push(`    ${isSettled(step) ? pc.dim(MARKS[step.status]) : MARKS[step.status]} ${step.id}  ${line(step.title, 80)}${why}`);
  }
  return lines;
}

function budgetLines(row: RunRow): string[] {
  const left = Object.entries(row.budgetLeft);
  return left.length === 0 ? [] : ['', `  budget left  ${left.map(([kind, n]) => budgetWords(kind, n)).join(', ')}`];
}

/** What tools and models made, and the results of steps that are too large to stand in the journal. */
function artifactLines(state: State): string[] {
  const made = new Map(state.artifacts.map(({ ref, role }) => [ref.sha256, { ref, role }]));
  for (const { id, output } of state.steps) if (output && 'ref' in output && !made.has(output.ref.sha256)) made.set(output.ref.sha256, { ref: output.ref, role: `result of ${id}` });
  if (made.size === 0) return [];
  const lines = [...made.values()].map(({ ref, role }) => `    ${ref.sha256.slice(0, 16)}  ${role.padEnd(10)} ${ref.name ?? ''} ${pc.dim(line(ref.summary, 80))}`);
  return ['', `  artifacts    (${command('longhaul artifacts cat ID')})`, ...lines];
}

function reportLines(state: State): string[] {
  const report = state.end?.report;
  if (!report) return [];
  const row = (name: string, items: string[]): string => `    ${name.padEnd(14)} ${items.length > 0 ? items.join('; ') : 'none'}`;
  return ['', '  cancel report', row('finished', report.finished), row('undone', report.undone), row('unknown', report.unknown), row('needs a person', report.needsPerson)];
}

/** Calls that the report calls unknown, and whose outcome the ledger has heard since: too late to change the end of the run. */
function lateLines(state: State, ledger: readonly LedgerRow[]): string[] {
  const unknown = state.end?.report?.unknown ?? [];
  return ledger.flatMap(({ tool, callId, outcome }) => {
    if (!outcome || !unknown.includes(`${tool} ${callId}`)) return [];
    const what = outcome.kind === 'done' ? `it happened: ${line(outcome.summary, 100)}` : `it was refused: ${line(outcome.failure.message, 100)}`;
    return [`    ${'known late'.padEnd(14)} ${tool} ${callId}: ${what}`];
  });
}
