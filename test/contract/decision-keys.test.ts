// Promises of the keyring and of its tokens: only what was signed with one of its keys counts, nobody else can read the file, keys
// come and go without a restart, and no fault quotes a secret.
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { KEYRING_FILE, openKeyring } from '../../src/adapters/keys/keyring';
import { readToken, sameMac } from '../../src/adapters/keys/token';
import type { Claims, Proof } from '../../src/core/proof';
import { KeysError } from '../../src/ports/decision-keys';

let folder: string;
const at = (): string => path.join(folder, KEYRING_FILE);
beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'longhaul-keys-')); });
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const CLAIMS: Claims = { jti: 'jti-1', sub: 'ann', iss: 'root', run: 'run-1', about: 'a-0123456789ab', may: ['approve', 'reject'], binding: 'b'.repeat(64), iat: 1_000_000, exp: 2_000_000 };
const why = (token: string, keys = openKeyring(folder)): string => {
  const found = keys.check(token, 'approve');
  return found.kind === 'invalid' ? found.why : 'valid';
};
const proofOf = (token: string): Proof => {
  const found = openKeyring(folder).check(token, 'approve');
  if (found.kind === 'invalid') throw new Error(found.why);
  return found.proof;
};
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const secrets = (): string[] => (JSON.parse(readFileSync(at(), 'utf8')) as { keys: { secret: string }[] }).keys.map(({ secret }) => secret);
const made = (): ReturnType<typeof openKeyring> => {
  const keys = openKeyring(folder);
  keys.ensure();
  return keys;
};

test('a token says what was signed, and its proof holds for that run and person alone', () => {
  const keys = made();
  const token = keys.sign(CLAIMS);
  expect(keys.check(token, 'approve')).toMatchObject({ kind: 'valid', claims: CLAIMS, proof: { jti: 'jti-1', iss: 'root', about: CLAIMS.about, for: 'approve', binding: CLAIMS.binding } });
  const proof = proofOf(token);
  expect(keys.faultOf('run-1', 'ann', proof)).toBeNull();
  for (const [run, sub, bent] of [['run-2', 'ann', proof], ['run-1', 'bob', proof], ['run-1', 'ann', { ...proof, about: 'a-x' }], ['run-1', 'ann', { ...proof, for: 'grant' as const }], ['run-1', 'ann', { ...proof, binding: 'c'.repeat(64) }], ['run-1', 'ann', { ...proof, seal: '' }]] as const) {
    expect(keys.faultOf(run, sub, bent)).toMatchObject({ kind: 'broken' });
  }
});

test('a proof is no token: neither it nor its seal can be sent as one', () => {
  const keys = made();
  const token = keys.sign(CLAIMS);
  const proof = proofOf(token);
  expect(token).not.toContain(proof.seal);
  const [head, body] = token.split('.');
  expect(why(`${head}.${body}.${proof.seal}`)).toContain('signature is wrong');
});

test('the token is a JSON Web Token that any library can make', () => {
  made();
  const { kid } = openKeyring(folder).list()[0] ?? { kid: '' };
  const signing = `${part({ typ: 'longhaul-decision+jwt', alg: 'HS256', kid })}.${part({ exp: 2_000, iat: 1_000, v: 1, jti: 'j', sub: 'ann', iss: 'shop', aud: 'run-1/a-1', may: ['reject'], binding: 'b'.repeat(64) })}`;
  const mac = createHmac('sha256', Buffer.from(secrets()[0] ?? '', 'base64url')).update(signing).digest('base64url');
  expect(openKeyring(folder).check(`${signing}.${mac}`, 'reject')).toMatchObject({ kind: 'valid', claims: { sub: 'ann', iss: 'shop', run: 'run-1', about: 'a-1', exp: 2_000_000 } });
});

test('every change of one character of a token is noticed', () => {
  const keys = made();
  const token = keys.sign(CLAIMS);
  for (let i = 0; i < token.length - 1; i += 1) {
    const other = token[i] === 'A' ? 'B' : 'A';
    expect(why(`${token.slice(0, i)}${other}${token.slice(i + 1)}`, keys)).not.toBe('valid');
  }
});

test.each([
  ['none', { alg: 'none', typ: 'longhaul-decision+jwt', kid: 'K' }],
  ['another algorithm', { alg: 'HS512', typ: 'longhaul-decision+jwt', kid: 'K' }],
  ['another type of token', { alg: 'HS256', typ: 'JWT', kid: 'K' }],
  ['a key of its own', { alg: 'HS256', typ: 'longhaul-decision+jwt', kid: 'K', jwk: { kty: 'oct' } }],
  ['a path as a key', { alg: 'HS256', typ: 'longhaul-decision+jwt', kid: '../../etc/passwd' }],
])('a header that names %s is refused before any key is used', (_name, header) => {
  const keys = made();
  const [, body, mac] = keys.sign(CLAIMS).split('.');
  const kid = openKeyring(folder).list()[0]?.kid ?? '';
  expect(why(`${part({ ...header, kid: header.kid === 'K' ? kid : header.kid })}.${body}.${mac}`)).toContain('form of one');
});

test.each(['', '.', '..', 'x.y.z', 'null', `${'a'.repeat(5_000)}.b.c`, `${part(null)}.${part([])}.${'A'.repeat(43)}`])('I7 what is no token (%#) is told as such, never thrown', (text) => {
  made();
  expect(readToken(text)).toBeNull();
  expect(why(text)).toContain('form of one');
});

test('a token of another keyring is foreign: its key is unknown here', () => {
  made();
  const elsewhere = mkdtempSync(path.join(tmpdir(), 'longhaul-keys-'));
  const other = openKeyring(elsewhere);
  other.ensure();
  const token = other.sign(CLAIMS);
  rmSync(elsewhere, { recursive: true });
  expect(why(token)).toContain('not in the keyring');
});

test('the newest key signs, every key verifies, and a key that is taken out makes void what it has signed', () => {
  const keys = made();
  const [old] = keys.list();
  const before = keys.sign(CLAIMS);
  const kid = keys.rotate();
  expect(keys.list()).toEqual([{ ...old, signs: false }, { kid, createdAt: expect.any(Number), signs: true }]);
  const after = keys.sign(CLAIMS);
  expect(readToken(before)?.kid).toBe(old?.kid);
  expect(readToken(after)?.kid).toBe(kid);
  const proof = proofOf(before);
  expect([why(before), why(after)]).toEqual(['valid', 'valid']);
  expect(keys.remove(old?.kid ?? '')).toBe(true);
  expect(keys.remove(old?.kid ?? '')).toBe(false);
  expect([why(before, keys), why(after, keys)]).toEqual([expect.stringContaining('not in the keyring'), 'valid']);
  expect(keys.faultOf('run-1', 'ann', proof)).toMatchObject({ kind: 'broken', why: expect.stringContaining('taken out') });
});

test('the file is for its owner alone, and one that others may read is not used', () => {
  const keys = made();
  const token = keys.sign(CLAIMS);
  const proof = proofOf(token);
  keys.rotate();
  expect(statSync(at()).mode & 0o777).toBe(0o600);
  chmodSync(at(), 0o640);
  expect(why(token, keys)).toContain('chmod 600');
  expect(keys.faultOf('run-1', 'ann', proof)).toMatchObject({ kind: 'away' });
  expect(() => keys.sign(CLAIMS)).toThrow(KeysError);
});

test('without a keyring nothing is made by looking, and each fault says what to do', () => {
  const keys = openKeyring(folder);
  expect(keys.list()).toEqual([]);
  expect(() => keys.sign(CLAIMS)).toThrow('approvals keys --rotate');
  expect(keys.ensure()).toBe(true);
  expect(keys.ensure()).toBe(false);
  expect(keys.list()).toHaveLength(1);
});

test('a damaged keyring is told without a word of it', () => {
  const keys = made();
  const token = keys.sign(CLAIMS);
  const [secret = ''] = secrets();
  writeFileSync(at(), `{"v":1,"keys":[{"secret":"${secret}"`, { mode: 0o600 });
  expect(why(token, keys)).toContain('is damaged');
  expect(why(token, keys)).not.toContain(secret);
  expect(() => keys.sign(CLAIMS)).toThrow('is damaged');
  expect(() => keys.sign(CLAIMS)).not.toThrow(secret);
});

test('processes that make the first key at once have one and the same', async () => {
  const module = path.join(__dirname, '..', '..', 'src', 'adapters', 'keys', 'keyring.ts');
  const program = `const keys = require('jiti').createJiti(${JSON.stringify(__filename)})(${JSON.stringify(module)}).openKeyring(${JSON.stringify(folder)});
    const at = Number(process.argv[1]); while (Date.now() < at); console.log(JSON.stringify([keys.ensure(), keys.sign(${JSON.stringify(CLAIMS)})]));`;
  const start = String(Date.now() + 3_000);
  const ends = await Promise.all(Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, ['-e', program, start])));
  const said = ends.map(({ stdout }) => JSON.parse(stdout) as [boolean, string]);
  expect(said.filter(([first]) => first)).toHaveLength(1);
  expect(said.map(([, token]) => why(token))).toEqual(['valid', 'valid', 'valid', 'valid']);
});

test('while another process changes the keys a rotation is refused, and leaves them as they are', async () => {
  const keys = made();
  await mkdir(`${at()}.lock`);
  expect(() => keys.rotate()).toThrow('Another process');
  expect(keys.list()).toHaveLength(1);
});

test('codes are compared whole: equal length and every byte', () => {
  const one = Buffer.alloc(32, 1);
  expect(sameMac(one, Buffer.alloc(32, 1))).toBe(true);
  expect(sameMac(one, Buffer.alloc(31, 1))).toBe(false);
  for (const i of [0, 15, 31]) {
    const other = Buffer.from(one);
    other[i] = 2;
    expect(sameMac(one, other)).toBe(false);
  }
});
