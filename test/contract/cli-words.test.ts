// What the command line says in words: amounts with their units, one and many, and events as lines that fit a terminal.
import { stripVTControlCharacters } from 'node:util';
import { amount, budgetWords, count, duration, plain } from '../../src/cli/print';
import { whyInVain } from '../../src/cli/commands/approvals-keys';
import type { WaitRow } from '../../src/core/row';
import { parsable, programOf } from '../../src/cli/program';
import { tellEvent as tell } from '../../src/cli/tell';
import { canonical } from '../../src/core/canonical';
import { budgetOf, jsonOf, MOST } from '../../src/cli/options';
import { faultOfMessage } from '../../src/messages';
import { initialState } from '../../src/core/initial';
import type { Budget } from '../../src/core/run';
import { waitsOf } from '../../src/core/waits';
import type { EventData, EventType, RunEvent } from '../../src/core/events';

/** Colours are on where the environment says so (a terminal, CI): the words are what counts here. */
const tellEvent = (...about: Parameters<typeof tell>): string => stripVTControlCharacters(tell(...about));
const event = <T extends EventType>(type: T, data: EventData[T]): RunEvent => ({ runId: 'r', seq: 7, v: 1, type, at: 0, causationId: 'c', correlationId: 'r', actor: { id: 'ann', via: 'cli', assurance: 'local-user' }, data } as unknown as RunEvent);
const checked = (evidence: string, decision: EventData['RecoveryChecked']['decision']): string =>
  tellEvent(event('RecoveryChecked', { callId: 'c1', n: 1, findings: [{ question: 4, verdict: decision, evidence }], decision }), 500).replace(/^.*RecoveryChecked /, '');

test('time is a duration, money is dollars, and one is no plural', () => {
  expect([0, 45_000, 1_800_000, 7_500_000, 604_800_000].map(duration)).toEqual(['0 s', '45 s', '30 min', '2 h 5 min', '7 days']);
  expect([amount('wallMs', 1_800_000), amount('microUsd', 500_000), budgetWords('wallMs', 1_800_000), budgetWords('calls', 3)]).toEqual(['30 min', '0.5', 'wall 30 min', 'calls 3']);
  expect([count(1, 'event'), count(2, 'event')]).toEqual(['1 event', '2 events']);
});

test('what others wrote cannot paint over what is shown: control characters and turned text are written out, own colours and lines stay', () => {
  expect(plain('ok\u001b[2A\u001b[2K\u009b8m\u0007[36m\r\u202egnihton\u2069')).toBe('ok\\u001b[2A\\u001b[2K\\u009b8m\\u0007[36m\\u000d\\u202egnihton\\u2069');
  expect(plain('\u001b[36mnpx longhaul inbox\u001b[39m\n\tgrün 😀\r\nשלום')).toBe('\u001b[36mnpx longhaul inbox\u001b[39m\n\tgrün 😀\nשלום');
});

test('an event is one line no longer than the terminal is wide', () => {
  const long = event('RunBlocked', { why: 'why '.repeat(100), failure: { class: 'unknown', code: 'x', message: 'x' }, steps: [] });
  expect(tellEvent(long, 80)).toHaveLength(80);
  expect(tellEvent(long, undefined).length).toBeGreaterThan(150);
});

test('what somebody only claims to be is shown as unauthenticated', () => {
  const told = (assurance: 'claimed' | 'local-user' | 'token'): string => tellEvent(event('ApprovalGranted', { approvalId: 'a-1', callId: 'c1', actors: [{ id: 'ann', via: 'temporal', assurance }], final: true }), 200);
  expect(told('claimed')).toMatch(/a-1 by ann \(unauthenticated\)$/);
  expect([told('local-user'), told('token')]).toEqual([expect.stringMatching(/by ann$/), expect.stringMatching(/by ann$/)]);
});

test('a call of no tokens names none', () => {
  const told = (tokens: number): string => tellEvent(event('ModelCallSucceeded', { callId: 'c1', attempt: 1, usage: { calls: 1, tokens, microUsd: 0, failures: 0 } }), 200);
  expect([told(0), told(1)]).toEqual([expect.not.stringContaining('token'), expect.stringMatching(/c1 1 token$/)]);
});

test('the command beside a used-up budget names each kind as --budget takes it', () => {
  const fields: (keyof Budget)[] = ['microUsd', 'wallMs', 'tokens'];
  const [wait] = waitsOf({ ...initialState('r'), version: 1, exhausted: fields });
  expect(wait).toMatchObject({ what: 'more budget: usd, wall, tokens used up', command: 'longhaul runs extend r --budget usd=DOLLARS,wall=TIME,tokens=N' });
  const filled = wait?.command.replace('DOLLARS', '2').replace('TIME', '30m').replace('N', '500') ?? '';
  expect(budgetOf(filled.split('--budget ')[1] ?? '')).toEqual({ microUsd: 2_000_000, wallMs: 1_800_000, tokens: 500 });
});

test.each<[string, string[], string]>([
  ['an empty message id', ['runs', 'pause', 'r', '--message-id', ''], '--message-id is empty: give 1 to 128 characters, or leave it out.'],
  ['a long message id', ['approvals', 'approve', 'a-1', '--message-id', 'm'.repeat(129)], '--message-id may have 128 characters at most, and this has 129'],
  ['a long reason of a rejection', ['approvals', 'reject', 'a-1', '--reason', 'r'.repeat(5_000)], '--reason may have 4,096 characters at most, and this has 5,000'],
  ['a long reason of a cancel', ['runs', 'cancel', 'r', '--reason', 'r'.repeat(4_097)], '--reason may have 4,096 characters at most'],
  ['a long reference', ['resolve', 'r', 'c1', '--happened', 'r'.repeat(4_097)], '--happened may have 4,096 characters at most'],
  ['an empty step', ['runs', 'settle', 'r', '--as', 'skip', '--step', ''], '--step is empty'],
])('%s is refused as it is read, in one sentence that says the limit', async (_, words, sentence) => {
  await expect(programOf('0.0.0').parseAsync(['node', 'longhaul', ...words])).rejects.toMatchObject({ code: 2, message: expect.stringContaining(sentence) });
});

test('what a message may be is what the command line lets pass', () => {
  const actor = { id: 'ann', via: 'cli' as const, assurance: 'local-user' as const };
  const faults = (most: (n: number) => object): boolean[] => [0, 1].map((more) => faultOfMessage({ messageId: 'm', actor, ...most(more) }) !== null);
  const within = [false, true];
  expect(faults((more) => ({ messageId: 'm'.repeat(MOST.messageId + more), body: { kind: 'resume' } }))).toEqual(within);
  expect(faults((more) => ({ body: { kind: 'reject', approvalId: 'a', reason: 'r'.repeat(MOST.reason + more) } }))).toEqual(within);
  expect(faults((more) => ({ body: { kind: 'resolve', callId: 'c', verdict: 'happened', reference: 'r'.repeat(MOST.reference + more) } }))).toEqual(within);
  expect(faults((more) => ({ body: { kind: 'settle', as: 'skip', stepId: 's'.repeat(MOST.stepId + more) } }))).toEqual(within);
  const grant = (where: Record<string, string>) => ({ body: { kind: 'approve', approvalId: 'a', grant: { where } } });
  expect(faults((more) => grant({ m: 'v'.repeat(MOST.value + more) }))).toEqual(within);
  expect(faults((more) => grant({ ['m'.repeat(MOST.member + more)]: 'v' }))).toEqual(within);
  expect(faults((more) => grant(Object.fromEntries(Array.from({ length: MOST.terms + more }, (_, i) => [`m${i}`, 'v']))))).toEqual(within);
});

test('no command beside a wait holds a sign that a shell would act on', () => {
  const state = { ...initialState('r'), version: 1, blocked: { why: 'w', failure: { class: 'unknown' as const, code: 'x', message: 'x' }, steps: ['s'] }, decisions: { d: { decisionId: 'd', callId: 'c1', tool: 't', why: 'w', askedAt: 0 } } };
  for (const { command, or = [] } of waitsOf(state)) for (const one of [command, ...or]) expect(one).toMatch(/^longhaul [A-Za-z0-9 ._-]+$/);
});

test.each([
  ['ledger dead, look-up found: the outside knows the key', 'record', 'c1 looked up: found outside; recorded, not sent again'],
  ['ledger done, look-up not-asked: the ledger has the outcome', 'record', 'c1 the ledger has its outcome; recorded, not sent again'],
  ['ledger none, look-up not-asked: never sent', 'send', 'c1 never claimed; sent now for the first time'],
  ['ledger dead, look-up absent: absent at two looks', 'retry', 'c1 looked up: not there; sent again (absent at two looks)'],
  ['ledger dead, look-up none: notify cannot be looked up', 'ask-person', 'c1 it cannot be looked up; a person is asked (notify cannot be looked up)'],
] as const)('recovery in words: %s', (evidence, decision, words) => expect(checked(evidence, decision)).toBe(words));

test('JSON that is nested too deep is refused with a sentence and exit 2, however deep', () => {
  const nested = (deep: number): string => `{"text":${'['.repeat(deep)}${']'.repeat(deep)}}`;
  for (const deep of [201, 2_500, 200_000]) {
    expect(() => jsonOf('--input', nested(deep))).toThrow(expect.objectContaining({ code: 2, message: '--input is nested too deep: write JSON of at most 200 levels.' }));
    expect(() => jsonOf('--args', nested(deep), 64)).toThrow(expect.objectContaining({ code: 2, message: '--args is nested too deep: write JSON of at most 64 levels.' }));
  }
  expect(canonical(jsonOf('--args', nested(60), 64))).toBe(nested(60));
});

test('a word that names no command is not answered with help, and one of a group is pointed at', () => {
  const parse = (...words: string[]): string[] => parsable(programOf('0.0.0'), ['node', 'longhaul', ...words]).slice(2);
  expect([parse('nosuch', '--help'), parse('runs', 'nosuch', '-h')]).toEqual([['nosuch'], ['runs', 'nosuch']]);
  for (const kept of [['--help'], ['runs', '--help'], ['help', 'runs'], ['runs', 'show', 'restore', '--help'], ['demo', '-h']]) expect(parse(...kept)).toEqual(kept);
  expect(() => parse('restore', 'r1')).toThrow('There is no command "restore" here; did you mean npx longhaul runs restore?');
});

test('who makes a token for somebody whom the run would refuse is told so, and why', () => {
  const wait = { kind: 'approval', waitId: 'a-1', who: ['ann', 'ben', 'cid'], not: 'cid', quorum: 2, granted: ['ben'] } as unknown as WaitRow;
  expect(whyInVain(wait, 'ann')).toBeNull();
  expect(whyInVain(wait, 'ben')).toMatch(/from ben: that word counts already/);
  expect(whyInVain(wait, 'cid')).toMatch(/from cid: who asked for a run may not decide this/);
  expect(whyInVain(wait, 'dan')).toMatch(/from dan: a-1 is for ann, ben; 2 people must approve, so far ben\.$/);
});
