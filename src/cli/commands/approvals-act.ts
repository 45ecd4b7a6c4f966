// `longhaul approvals approve|reject|edit|revoke`: decisions of people on calls. Several ids are decided one after the other, each
// with a line of its own; one that fails does not keep the others from being decided. Decides nothing itself.
import { Option, type Command } from 'commander';
import type { Json } from '../../core/canonical';
import type { RunEvent } from '../../core/events';
import type { GrantTerms, MessageBody } from '../../core/message';
import { MAX_DEPTH } from '../../core/rules/binding';
import type { LonghaulClient } from '../../client/client';
import { ClientError } from '../../client/types';
import { act } from '../act';
import { decide } from '../decisions';
import { EXIT, Stop, stopOf } from '../exit';
import { deciding, durationOf, jsonOf, MOST, upTo, type DeciderOptions } from '../options';
import { outputOf } from '../outputs';
import type { Place } from '../place';
import { json, say } from '../print';
import { tellEvent } from '../tell';
import { addApprovalsKeys } from './approvals-keys';

type Body<O> = (id: string, options: O) => MessageBody;

/** One decision on several ids; the worst code counts. */
const decideAll = <O extends DeciderOptions>(body: Body<O>) => async (place: Place, ids: string[], options: O): Promise<number> => {
  if (options.messageId !== undefined && ids.length > 1) throw new Stop(EXIT.usage, '--message-id names one decision; give one id with it.');
  if (options.token !== undefined && ids.length > 1) throw new Stop(EXIT.usage, '--token is for one decision; give one id with it.');
  let worst: number = EXIT.done;
  for (const id of new Set(ids)) worst = Math.max(worst, await one(place, id, body(id, options), options));
  return worst;
};

/** Decides one id; what cannot be decided is said beside its id. */
async function one(place: Place, id: string, body: MessageBody, options: DeciderOptions): Promise<number> {
  try {
    return await decide(place, await (await place.client()).runOf(id), body, options, id);
  } catch (error) {
    const { code, message } = stopOf(error);
    if (options.json) json({ id, known: false, state: 'unknown', why: message });
    else say(`${id}: ${message}`);
    return code;
  }
}

interface ApproveOptions extends DeciderOptions { restOfRun?: boolean; for?: string; where?: string[] }

/** The terms of a grant, when one is asked for. */
function termsOf({ restOfRun, for: span, where }: ApproveOptions): { grant?: GrantTerms } {
  if (!restOfRun && span === undefined && !where) return {};
  if (!restOfRun) throw new Stop(EXIT.usage, '--for and --where bound an approval for the rest of the run; add --rest-of-run.');
  const terms = (where ?? []).map((text): [string, string] => {
    const at = text.indexOf('=');
    if (at < 1 || at === text.length - 1) throw new Stop(EXIT.usage, `--where needs MEMBER=VALUE, e.g. --where path=reports/*, not "${text}".`);
    return [text.slice(0, at), text.slice(at + 1)];
  });
  const twice = terms.find(([member], i) => terms.findIndex(([other]) => other === member) < i);
  if (twice) throw new Stop(EXIT.usage, `--where names ${twice[0]} twice, and one argument cannot be two things: give one value, or a beginning that ends in *.`);
  if (terms.length > MOST.terms) throw new Stop(EXIT.usage, `--where may name ${MOST.terms} arguments at most, and these are ${terms.length}.`);
  for (const [member, value] of terms) {
    if (member.length > MOST.member || value.length > MOST.value) throw new Stop(EXIT.usage, `--where may have ${MOST.member} characters of MEMBER and ${MOST.value} of VALUE at most: give the beginning of the value, ending in *.`);
  }
  const forMs = span === undefined ? undefined : durationOf('--for', span);
  if (forMs === 0) throw new Stop(EXIT.usage, '--for needs a time that is longer than nothing, e.g. 2h.');
  return { grant: { ...(forMs === undefined ? {} : { forMs }), ...(terms.length > 0 ? { where: Object.fromEntries(terms) } : {}) } };
}

/** Id of the approval that an edit is about: its own, or that of a run which has one open. */
async function approvalOf(client: LonghaulClient, name: string): Promise<{ runId: string; approvalId: string }> {
  try {
    return { runId: await client.runOf(name), approvalId: name };
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== 'unknown-wait') throw error;
  }
  const { row } = await client.show(name);
  const open = row.waits.filter((wait) => wait.kind === 'approval');
  if (open.length === 1 && open[0]) return { runId: name, approvalId: open[0].waitId };
  throw new Stop(EXIT.usage, open.length === 0 ? `Run ${name} waits for no approval.` : `Run ${name} waits for ${open.length} approvals; name one: ${open.map((wait) => wait.waitId).join(', ')}.`);
}

async function edit(place: Place, name: string, options: DeciderOptions & { args: string }): Promise<number> {
  const client = await place.client();
  const { runId, approvalId } = await approvalOf(client, name);
  const given: Json = jsonOf('--args', options.args, MAX_DEPTH);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new Stop(EXIT.usage, '--args must be a JSON object with all arguments of the call: see `npx longhaul approvals show`.');
  const after = (await client.show(runId)).row.version;
  const args = await outputOf(place, given, `edited arguments for ${approvalId}`);
  const code = await decide(place, runId, { kind: 'edit', approvalId, args }, options, approvalId);
  return code === EXIT.done ? cameOf(client, runId, approvalId, after, options) : code;
}

/** ms for which the outcome of an edit is waited for. */
const CHECK_MS = 10_000;

/** What the check of the edited arguments came to, when it is known soon. */
async function cameOf(client: LonghaulClient, runId: string, approvalId: string, after: number, options: DeciderOptions): Promise<number> {
  let stepId: string | undefined;
  let callId: string | undefined;
  for await (const event of client.watch(runId, { after, signal: AbortSignal.timeout(CHECK_MS) })) {
    if (event.type === 'CallEdited' && event.data.approvalId === approvalId) stepId = event.data.stepId;
    if (event.type === 'EditRefused' && event.data.stepId === stepId) return told(event, options, EXIT.error);
    if (event.type === 'CallPrepared' && event.data.edited?.approvalId === approvalId) callId = event.data.callId;
    const next = callId !== undefined && 'callId' in event.data && event.data.callId === callId;
    if (next && (event.type === 'ApprovalRequested' || event.type === 'ToolCallRequested')) return told(event, options, EXIT.done);
  }
  return EXIT.done;
}

function told(event: RunEvent, options: DeciderOptions, code: number): number {
  if (options.json) json(event);
  else say(tellEvent(event));
  return code;
}

/** Adds the deciding commands to `longhaul approvals`. */
export function addApprovalsAct(approvals: Command): void {
  addApprovalsKeys(approvals);
  deciding(approvals.command('approve').argument('<id...>').description('allow exactly this call, or each of these'))
    .option('--rest-of-run', 'also allow later calls of the same tool and major version in this run')
    .option('--for <time>', 'with --rest-of-run: only so long, e.g. 2h')
    .addOption(new Option('--where <member=value...>', 'with --rest-of-run: only calls with this argument; a value that ends in * stands for all that begin so'))
    .action(act(decideAll<ApproveOptions>((approvalId, options) => ({ kind: 'approve', approvalId, ...termsOf(options) })), ([, options]) => options));
  deciding(approvals.command('reject').argument('<id...>').option('--reason <text>', 'why; the planner reads it', upTo('--reason', MOST.reason), '').description('refuse the call, or each of these; nothing is executed'))
    .action(act(decideAll<DeciderOptions & { reason: string }>((approvalId, { reason }) => ({ kind: 'reject', approvalId, reason })), ([, options]) => options));
  deciding(approvals.command('edit').argument('<id>', 'the approval, or its run').description('change the arguments and approve the changed call; the planner is told'))
    .requiredOption('--args <json>', 'all arguments of the call: JSON, or @FILE').action(act(edit, ([, options]) => options));
  deciding(approvals.command('revoke').argument('<id...>', 'a grant: see npx longhaul runs show RUN').description('end an approval for the rest of a run'))
    .action(act(decideAll((grantId) => ({ kind: 'revoke', grantId })), ([, options]) => options));
}
