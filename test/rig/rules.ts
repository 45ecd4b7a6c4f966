// Policy rules that tests choose by the `text` of a call to `asked`: who must approve, until when, and what happens then.
// Every question that policy is asked leaves a line in a file, so that a test can count them.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PolicyRule } from '../../src/adapters/policy/table-schema';
import { tablePolicy } from '../../src/adapters/policy/table';
import type { PolicyPort } from '../../src/ports/policy';

const asks = (text: string, more: Partial<PolicyRule>): PolicyRule => ({ name: `asks-${text.replaceAll(' ', '-')}`, tool: 'asked', args: { text }, decision: 'ask', ownerMay: true, ...more });
const SOON_MS = 4_000;
const FORTNIGHT_MS = 14 * 24 * 3_600_000;

/** The text of a call about which policy thinks for two seconds before it denies it. */
export const AFTER_A_WHILE = 'never, after a while';

const RULES: PolicyRule[] = [
  asks('two people', { quorum: 2 }),
  asks('boss only', { approvers: ['boss'] }),
  asks('never', { ownerMay: undefined, decision: 'deny', why: 'Nobody may write that.' }),
  asks(AFTER_A_WHILE, { ownerMay: undefined, decision: 'deny', why: 'Nobody may write that either.' }),
  asks('soon: cancel-run', { expiresInMs: SOON_MS, onDeadline: { then: 'cancel-run', remindEveryMs: 1_000 } }),
  asks('soon: fail-step', { expiresInMs: SOON_MS, onDeadline: { then: 'fail-step' } }),
  asks('soon: ask-again', { expiresInMs: SOON_MS, onDeadline: { then: 'ask-again' } }),
  asks('soon: escalate', { expiresInMs: SOON_MS, onDeadline: { then: 'escalate', escalateTo: ['boss'] } }),
  asks('a fortnight: cancel-run', { expiresInMs: FORTNIGHT_MS, onDeadline: { then: 'cancel-run', remindEveryMs: FORTNIGHT_MS / 7 } }),
  asks('a fortnight: fail-step', { expiresInMs: FORTNIGHT_MS, onDeadline: { then: 'fail-step' } }),
  asks('a fortnight: ask-again', { expiresInMs: FORTNIGHT_MS, onDeadline: { then: 'ask-again' } }),
  asks('a fortnight: escalate', { expiresInMs: FORTNIGHT_MS, onDeadline: { then: 'escalate', escalateTo: ['boss'] } }),
  { name: 'asked-asks', tool: 'asked', decision: 'ask', ownerMay: true, why: 'The test decides.' },
  { name: 'blind-pays', tool: 'blind', args: { text: 'pay' }, decision: 'ask', why: 'It cannot be taken back.' },
  { name: 'rest-free', decision: 'allow', why: 'A test.' },
];

const fileOf = (effects: string): string => `${effects}.policy`;

/** The rig's policy over an effects file. */
export function rigPolicy(effects: string): PolicyPort {
  const table = tablePolicy({ name: 'rig', rules: RULES });
  return {
    describe: () => table.describe(),
    decide: async (question) => {
      appendFileSync(fileOf(effects), `${JSON.stringify({ runId: question.runId, tool: question.tool, argsDigest: question.argsDigest })}\n`);
      if ((question.args as { text?: unknown } | null)?.text === AFTER_A_WHILE) await sleep(2_000);
      return table.decide(question);
    },
  };
}

/** How often policy was asked about a run's calls. */
export function policyAsked(effects: string, runId: string): number {
  if (!existsSync(fileOf(effects))) return 0;
  return readFileSync(fileOf(effects), 'utf8').split('\n').filter(Boolean).filter((line) => (JSON.parse(line) as { runId: string }).runId === runId).length;
}
