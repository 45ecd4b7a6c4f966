// The last look before a call is claimed at what its approvers signed: over a real keyring and real stores. What does not hold is
// not sent, and nothing is claimed for good.
import { appendFileSync, chmodSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { makeHands } from '../../src/activities';
import { KEYRING_FILE, openKeyring, type Keyring } from '../../src/adapters/keys/keyring';
import { digestOf } from '../../src/core/canonical';
import type { Claims, May, Proof } from '../../src/core/proof';
import { digestOfApproval } from '../../src/core/rules/authority';
import { toWire } from '../../src/core/wire';
import type { CallNeed, CallResult } from '../../src/core/world';
import { handsOver, RUN, toolFor, type HandsRig } from '../rig/hands';

let rig: HandsRig;
let keys: Keyring;
const file = (): string => path.join(rig.folder, 'effects');
const effects = (): number => (existsSync(file()) ? readFileSync(file(), 'utf8').length : 0);

beforeEach(async () => {
  rig = await handsOver([toolFor(async () => { appendFileSync(file(), '.'); return { done: true }; }, { effect: 'irreversible' })]);
  keys = openKeyring(rig.folder);
  keys.ensure();
});
afterEach(() => rig.close());

const ABOUT = 'a-1';
const bound = (): string => digestOfApproval(RUN, ABOUT, 'c1', { tool: 'act', version: '1.2.0', argsDigest: digestOf({ text: 'hello' }), resourceVersion: null, planVersion: 3 });

/** What is kept of an approval by ann. */
function proof(more: Partial<Claims> = {}, use: May = 'approve'): Proof & { sub: string } {
  const claims: Claims = { jti: 'j', sub: 'ann', iss: 'root', run: RUN, about: ABOUT, may: [use], binding: bound(), iat: 0, exp: Date.now() + 60_000, ...more };
  const found = keys.check(keys.sign(claims), use);
  if (found.kind === 'invalid') throw new Error(found.why);
  return { ...found.proof, sub: claims.sub };
}

/** The call as the law asks for it, with these proofs behind its approval. */
function call(proofs?: CallNeed['approval'] extends infer A ? (A extends { proofs?: infer P } ? P : never) : never): Promise<CallResult> {
  const { need } = rig.need({ approval: { approvalId: ABOUT, expiresAt: Date.now() + 60_000, argsDigest: digestOf({ text: 'hello' }), ...(proofs ? { proofs, planVersion: 3 } : {}) } });
  const wire = toWire({ runId: RUN, epoch: 0 }, need as CallNeed);
  const hands = makeHands(rig.deps);
  return rig.environment().run((asked: typeof wire) => hands.call(asked), wire) as Promise<CallResult>;
}

test('R7.3 a call is made whose approval was signed for exactly this call', async () => {
  expect(await call([proof()])).toMatchObject({ kind: 'succeeded' });
  expect(effects()).toBe(1);
});

test('R7.3 a call whose approval nobody signed is not made, and nothing is claimed', async () => {
  expect(await call([])).toEqual({ kind: 'not-sent', why: 'proof', fault: 'nobody has signed the approval' });
  expect(effects()).toBe(0);
  expect(await rig.deps.ledger.get(rig.need().need.key)).toMatchObject({ state: 'released' });
});

type Signed = [how: string, proof: () => Proof & { sub: string }, fault: string];
test.each<Signed>([
  ['for other arguments', () => proof({ binding: digestOf('other') }), 'for another call'],
  ['for another approval', () => proof({ about: 'a-2' }), 'for another call'],
  ['for another run', () => proof({ run: 'elsewhere' }), 'is not what was signed'],
  ['by somebody else', () => ({ ...proof(), sub: 'bob' }), 'is not what was signed'],
  ['with nothing', () => ({ ...proof(), seal: 'A'.repeat(43) }), 'is not what was signed'],
])('R7.3 a call whose approval was signed %s is not made', async (_name, one, fault) => {
  expect(await call([proof(), one()])).toMatchObject({ kind: 'not-sent', why: 'proof', fault: expect.stringContaining(fault) });
  expect(effects()).toBe(0);
});

test('what a grant or an edit of an earlier approval signed allows the call that rests on it', async () => {
  expect(await call([proof({ about: 'a-0', binding: digestOf('before') }, 'grant')])).toMatchObject({ kind: 'succeeded' });
  expect(effects()).toBe(1);
});

test('a key that was taken out voids what it signed; keys that cannot be read only hold the call up', async () => {
  const kept = proof();
  chmodSync(path.join(rig.folder, KEYRING_FILE), 0o644);
  expect(await call([kept])).toMatchObject({ kind: 'busy', why: expect.stringContaining('chmod 600') });
  chmodSync(path.join(rig.folder, KEYRING_FILE), 0o600);
  keys.rotate();
  keys.remove(kept.kid);
  expect(await call([kept])).toMatchObject({ kind: 'not-sent', fault: expect.stringContaining('was taken out') });
  expect(effects()).toBe(0);
});

test('where nobody had to sign nothing is looked at', async () => {
  expect(await call()).toMatchObject({ kind: 'succeeded' });
});
