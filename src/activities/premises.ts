// Reads what a step of the plan took for granted: the versions of outside things, as they are now, held against what the plan
// says. Asked by the gate, and once more before a send that may have waited for days. Only looks; the law judges.
// Never throws: a premise that cannot be read does not hold, since nothing is executed on a guess.
import type { Premise } from '../core/plan';
import { LIMITS } from '../core/run';
import type { CallArgs, PremiseSeen } from '../core/world';
import { redactText } from '../ports/redaction';
import type { ToolCall } from '../ports/tool';
import { expectedVersion } from './arguments';
import type { HandsDeps } from './deps';
import { failureOf, oneLine } from './failures';

/** ms that the outside has for one answer: what does not answer cannot say. */
const ANSWER_MS = 30_000;

/** The answer of an outside, or an error when it takes longer than anybody waits. */
export async function answerInTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => { timer = setTimeout(() => reject(new Error(`It did not answer within ${ANSWER_MS / 1000} s.`)), ANSWER_MS); });
  try {
    return await Promise.race([answer, over]);
  } finally {
    clearTimeout(timer);
  }
}

type Deps = Pick<HandsDeps, 'artifacts' | 'resources'>;
interface Presumed { premises: Premise[]; call: CallArgs }

/** Every premise with what is so now; without a call, because the tool or its arguments are not to be had, none holds. */
export async function premisesNow(deps: Deps, need: Presumed, call: ToolCall | null): Promise<PremiseSeen[]> {
  return Promise.all(need.premises.map((premise) => premiseNow(deps, premise, need, call)));
}

async function premiseNow(deps: Deps, { resource, version }: Premise, need: Presumed, call: ToolCall | null): Promise<PremiseSeen> {
  const [kind = '', ...rest] = resource.split(':');
  let expected = '';
  try {
    expected = await expectedVersion(deps.artifacts, version, need.call.inputs);
    const read = Object.hasOwn(deps.resources, kind) ? deps.resources[kind] : undefined;
    if (!read) throw new Error(`Nothing here reads the version of ${resource}; add a reader named ${kind} under "resources" of the configuration.`);
    if (!call) throw new Error('The call itself cannot be made here.');
    const now = redactText(await answerInTime(read(rest.join(':'), call)));
    return { resource, expected, now, holds: now === expected };
  } catch (error) {
    return { resource, expected, now: oneLine(`cannot be read: ${failureOf(error).message}`, LIMITS.summaryBytes), holds: false };
  }
}
