// Events and answers as one line for people. Only words: what an event means is the law's business. Large values are not shown.
import pc from 'picocolors';
import type { EventData, EventType, GateDecision, RunEvent } from '../core/events';
import { iso } from '../core/iso';
import { wordsOfGrant } from '../core/rules/grants';
import type { Actor, Output } from '../core/run';
import { amount, budgetWords, columnsOf, count, line } from './print';

type Teller = { [T in EventType]: (data: EventData[T]) => string };

/** `claimed` is nobody's word but the sender's. */
const who = ({ id, assurance }: Actor): string => (assurance === 'claimed' ? `${id} (unauthenticated)` : id);
const names = (ids: readonly string[]): string => ids.join(', ');
const outputOf = (output: Output): string => ('ref' in output ? `${output.ref.summary} (${output.ref.bytes} bytes)` : JSON.stringify(output.value));

const TELL: Teller = {
  RunCreated: (d) => `${d.agent.name} ${d.agent.version}: ${d.title}`,
  RunMigrated: (d) => `to law ${d.law} and event schema ${d.eventSchema} by build ${d.build} (before: ${d.from.law}, ${d.from.eventSchema}, ${d.from.build})`,
  RunForked: (d) => `from ${d.parent.runId} after event ${d.parent.at}${d.effects.length > 0 ? `; it had done ${names(d.effects)}` : ''}${d.doubts.length > 0 ? `; in doubt there: ${names(d.doubts.map(({ runId, tool, callId }) => `${tool} ${callId}${runId === undefined || runId === d.parent.runId ? '' : ` of ${runId}`}`))}` : ''}`,
  RunRestored: (d) => `epoch ${d.epoch}: ${d.why}`,
  ModelCallRequested: (d) => `${d.callId} ${d.purpose === 'plan' ? (d.midway ? 'asks the planner while steps wait' : 'asks the planner') : `step ${d.stepId ?? ''}`}${again(d.attempt)}`,
  ModelCallSucceeded: (d) => `${d.callId}${d.usage.tokens > 0 ? ` ${count(d.usage.tokens, 'token')}` : ''}${d.text ? `: ${d.text}` : ''}`,
  ModelCallFailed: (d) => `${d.callId} ${d.failure.class}: ${d.failure.message}`,
  PlanAccepted: (d) => `version ${d.planVersion}: ${d.add.length > 0 ? names(d.add.map((step) => step.id)) : d.done ? `done (${d.done.outcome})` : 'fewer steps'}${d.drop.length > 0 ? `, without ${names(d.drop)}` : ''}${d.goal ? `; ${d.goal}` : ''}`,
  PlanRejected: (d) => d.reasons.join(' '),
  CallPrepared: (d) => `${d.callId} ${d.tool}: policy says ${d.policy.decision} (${d.policy.rule})`,
  ToolCallRequested: (d) => `${d.callId} ${d.tool} ${d.version}${again(d.attempt)}${d.key ? ` key ${d.key.slice(0, 15)}…` : ''}`,
  ToolCallSucceeded: (d) => `${d.callId} ${d.summary}${d.via === 'sent' || d.via === 'callback' || d.via === 'default' ? '' : ` (known from ${d.via}, not sent again)`}`,
  ToolCallPending: (d) => `${d.callId} accepted, its result comes later: ${d.summary}${d.via === 'sent' || d.via === 'callback' ? '' : ` (known from ${d.via}, not sent again)`}`,
  ToolCallFailed: (d) => `${d.callId} ${d.failure.class}: ${d.failure.message}`,
  ToolCallUnknown: (d) => `${d.callId} ${d.why}`,
  RetryScheduled: (d) => `${d.callId || (d.stepId ?? '')} again in ${d.delayMs} ms (${d.class})`,
  RecoveryChecked: (d) => `${d.callId} ${recoveryWords(d)}`,
  HumanDecisionRequested: (d) => `${d.decisionId} ${d.callId}: ${d.why}`,
  HumanDecided: (d) => `${d.callId} ${d.verdict} by ${who(d.actor)}${d.reference ? `: ${d.reference}` : ''}`,
  ApprovalRequested: (d) => `${d.approvalId} for ${d.binding.tool} ${d.callId}, until ${iso(d.expiresAt)}, then ${d.onDeadline.then} (rule ${d.rule.rule})`,
  ApprovalGranted: (d) => `${d.approvalId} by ${names(d.actors.map(who))}${d.grantId ? ` (grant ${d.grantId})` : ''}${d.final ? '' : ', more must approve'}`,
  ApprovalRejected: (d) => `${d.approvalId} by ${who(d.actor)}${d.reason ? `: ${d.reason}` : ''}`,
  ApprovalExpired: (d) => d.approvalId,
  ApprovalVoided: (d) => `${d.approvalId}: ${d.why}`,
  CallEdited: (d) => `${d.callId} by ${who(d.actor)}: new arguments ${'value' in d.args ? names(Object.keys(d.args.value ?? {})) : d.args.ref.sha256.slice(0, 12)}`,
  EditRefused: (d) => `${d.stepId}: ${d.failure.message}`,
  GrantGiven: (d) => `${d.grantId} by ${who(d.by)}: ${wordsOfGrant(d)}`,
  GrantRevoked: (d) => `${d.grantId} by ${d.actor.id}`,
  WaitReminded: (d) => `${d.waitId}, ${d.n === 1 ? 'once' : `${d.n} times`} so far`,
  CallbackAwaited: (d) => `${d.callbackId} for ${d.callId ?? d.stepId ?? ''}${d.child === undefined ? '' : `: the end of run ${d.child}`}${d.expect === null ? '' : `, ${count(d.expect, 'item')}`}${d.expiresAt === null ? '' : `, until ${iso(d.expiresAt)}, then ${d.onDeadline.then}`}`,
  CallbackReceived: (d) => `${d.callbackId} event ${d.eventId}${d.item === undefined ? '' : ` item ${d.item}`}: ${outputOf(d.payload)}`,
  ChildChecked: (d) => `${d.callbackId}: the run goes on; looked at again ${iso(d.againAt)}`,
  CallbackExpired: (d) => `${d.callbackId} after ${count(d.came, 'event')}${d.partial ? ', goes on with these' : ''}`,
  WaitStarted: (d) => `${d.stepId} until ${iso(d.wakeAt)}`,
  WaitSatisfied: (d) => d.stepId,
  QuestionOpened: (d) => `${d.questionId} ${d.question}`,
  QuestionAnswered: (d) => `${d.questionId} by ${d.by === 'default' ? 'default' : who(d.actor)}: ${outputOf(d.answer)}`,
  QuestionExpired: (d) => `${d.questionId}${d.why === undefined ? '' : `: ${d.why}`}`,
  FactConfirmed: (d) => `${d.key} (${d.source})`,
  ArtifactProduced: (d) => `${d.role} ${d.ref.name ?? ''} ${d.ref.sha256.slice(0, 12)} (${d.ref.bytes} bytes): ${d.ref.summary}`,
  StepCompleted: (d) => d.stepId,
  StepFailed: (d) => `${d.stepId}: ${d.failure.message}`,
  StepSkipped: (d) => `${d.stepId}: ${d.why}`,
  CheckpointSaved: (d) => `version ${d.version} (${d.ref.bytes} bytes)`,
  BudgetExhausted: (d) => `${budgetWords(d.kind, d.used)} of ${amount(d.kind, d.limit)}`,
  BudgetExtended: (d) => `${Object.entries(d.budget).map(([kind, n]) => budgetWords(kind, n)).join(', ')} by ${d.actor.id}`,
  RunPaused: (d) => `by ${who(d.actor)}${d.reason ? `: ${d.reason}` : ''}`,
  RunResumed: (d) => `by ${who(d.actor)}`,
  RunBlocked: (d) => d.why,
  RunUnblocked: (d) => `${d.as} ${names(d.steps)} by ${d.actor.id}`,
  UserMessageReceived: (d) => `from ${who(d.actor)}: ${outputOf(d.text)}`,
  MessageRejected: (d) => d.why,
  CancelRequested: (d) => `by ${who(d.actor)}${d.reason ? `: ${d.reason}` : ''}`,
  RunCompleted: (d) => `${d.outcome}: ${d.summary}`,
  RunFailed: (d) => `${d.failure.class}: ${d.failure.message}`,
  RunCancelled: (d) => `${d.reason}; finished ${d.report.finished.length}, undone ${d.report.undone.length}, unknown ${d.report.unknown.length}`,
};

const LEDGER: Record<string, string> = { done: 'the ledger has its outcome', refused: 'the ledger has its refusal', live: 'somebody is still at it', none: 'never claimed', released: 'its claim was given back' };
const LOOK_UP: Record<string, string> = { found: 'looked up: found outside', absent: 'looked up: not there', 'cannot-say': 'looked up: the outside cannot say', 'no-tool': 'no worker here has its tool', none: 'it cannot be looked up' };
const DECIDED: Record<GateDecision, string> = {
  record: 'recorded, not sent again', send: 'sent now for the first time', retry: 'sent again', wait: 'looked at again later', 'ask-person': 'a person is asked',
  stop: 'let be, since the run is cancelled', 'ask-again': 'its approval is asked for anew', replan: 'the plan no longer fits',
};

/** What the gate saw and decided: of the five findings, the fourth says what the ledger and the outside know. */
function recoveryWords({ findings, decision, unsure }: EventData['RecoveryChecked']): string {
  const evidence = findings.find((finding) => finding.question === 4)?.evidence ?? '';
  const [, ledger = '', lookUp = '', why = ''] = /^ledger (\S+), look-up (\S+): (.*)$/s.exec(evidence) ?? [];
  const seen = why === 'the outside has called back' ? why : LOOK_UP[lookUp] ?? LEDGER[ledger] ?? evidence;
  const because = decision === 'record' || decision === 'send' || seen === evidence ? '' : ` (${why})`;
  return `${ledger === 'done' || ledger === 'refused' ? LEDGER[ledger] : seen}; ${DECIDED[decision] ?? decision}${unsure ? ' under its key' : ''}${because}`;
}

const again = (attempt: number): string => (attempt > 1 ? `, attempt ${attempt}` : '');

/** What an event says, without its type; empty for a type that this build does not know. */
export function wordsOf(event: RunEvent): string {
  const tell = TELL[event.type] as ((data: unknown) => string) | undefined;
  return tell ? tell(event.data) : '';
}

const paint = (type: EventType): string => {
  if (/Failed|Unknown|Rejected|Blocked|Exhausted|Expired|Voided/.test(type)) return pc.yellow(type);
  if (/Completed|Granted|Succeeded|Satisfied/.test(type)) return pc.green(type);
  return /Recovery|Human|Approval|Question/.test(type) ? pc.cyan(type) : type;
};

const clock = (ms: number): string => new Date(ms).toTimeString().slice(0, 8);

/** Most characters of the words where no terminal says how wide it is. */
const WIDTH = 160;

/** An event as one line: time, number, type, words; on a terminal no longer than it is wide. */
export function tellEvent(event: RunEvent, columns: number | undefined = columnsOf(process.stdout)): string {
  const number = String(event.seq).padStart(4);
  const width = columns === undefined ? WIDTH : Math.max(20, columns - `00:00:00 ${number} ${event.type} `.length);
  return `${pc.dim(clock(event.at))} ${number} ${paint(event.type)} ${line(wordsOf(event), width)}`;
}
