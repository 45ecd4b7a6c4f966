// Secrets: where their values come from, in which forms they are found again, and what is left of a text without them.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { KnownSecrets } from '../../src/adapters/secrets/known';
import { SecretsFileError } from '../../src/adapters/secrets/secrets-file';
import { openSecrets } from '../../src/adapters/secrets/sources';
import { cleanHead, failureOf, oneLine } from '../../src/activities/failures';
import { ToolError } from '../../src/core/failure';
import { installRedactor, redactBytes, redactJson, redactText, secretIn, withoutCredentials } from '../../src/ports/redaction';

const CANARY = 'cana/ry+7f3a "91c2"';

const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-secrets-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const put = (name: string, text: string, mode = 0o600): string => {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
};

const html = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
/** How a value may come back, and the part of it that must then be gone. */
const FORMS: Record<string, (value: string) => string> = {
  'as it is': (value) => value,
  'percent-encoded': encodeURIComponent,
  'percent-encoded in small letters': (value) => encodeURIComponent(value).replaceAll(/%../g, (code) => code.toLowerCase()),
  'percent-encoded twice': (value) => encodeURIComponent(encodeURIComponent(value)),
  'as a form field': (value) => new URLSearchParams([['', value]]).toString().slice(1),
  'in JSON': inJson,
  'in JSON within JSON': (value) => inJson(inJson(value)),
  'in HTML': html,
  'in base64': (value) => Buffer.from(value).toString('base64'),
  'in base64 with broken lines': (value) => Buffer.from(value).toString('base64').replaceAll(/.{8}/g, (part) => `${part}\r\n`).trim(),
  'in base64url': (value) => Buffer.from(value).toString('base64url'),
  'in hex': (value) => Buffer.from(value).toString('hex'),
  'in capital hex': (value) => Buffer.from(value).toString('hex').toUpperCase(),
};

function knowing(...values: [string, string][]): KnownSecrets {
  const known = new KnownSecrets();
  for (const [name, value] of values) known.add(name, value);
  return known;
}

describe('a known value', () => {
  const value = fc.string({ unit: fc.oneof(fc.constantFrom(...Array.from('abcXYZ0189-_.~!@#$%^&*()+=/\\|"\'<>?;: é✓')), fc.string({ minLength: 1, maxLength: 1 })), minLength: 8, maxLength: 40 })
    .map((text) => text.trim()).filter((text) => text.length >= 8 && !/[\r\n]/.test(text) && !/[\uD800-\uDFFF]/.test(text));

  test.each(Object.entries(FORMS))('R2.4 is found and taken out %s, whatever it is made of', (_name, form) => {
    fc.assert(fc.property(value, (secret) => {
      const known = knowing(['K', secret]);
      const written = form(secret);
      const text = `before ${written}, after`;
      expect(known.found(text)).toBe('K');
      expect(known.text(text)).not.toContain(written);
      expect(known.text(text)).toContain('[secret');
    }), { numRuns: 300 });
  });

  test('R2.4 is found in base64 wherever it lies in what was encoded', () => {
    fc.assert(fc.property(value, fc.string(), fc.string(), (secret, before, after) => {
      for (const coding of ['base64', 'base64url'] as const) {
        const known = knowing(['K', secret]);
        expect(known.found(Buffer.from(`${before}${secret}${after}`).toString(coding))).toBe('K');
      }
    }), { numRuns: 300 });
  });

  test('of a part of another is taken out whole, the longest first, and twice is the same as once', () => {
    const known = knowing(['SHORT', 'abcdefgh1'], ['LONG', 'xx-abcdefgh1-yy']);
    expect(known.text('a xx-abcdefgh1-yy b abcdefgh1')).toBe('a [secret LONG] b [secret SHORT]');
    expect(known.text(known.text('xx-abcdefgh1-yy'))).toBe('[secret LONG]');
    expect(knowing(['password', 'password']).text('my password')).toBe('my [secret]');
  });

  test('of several lines is found line by line', () => {
    const key = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQ\n-----END KEY-----\n';
    const known = knowing(['PEM', key]);
    expect(known.text(JSON.stringify({ key }))).toBe('{"key":"[secret PEM]\\n"}');
    expect(known.text('line 2 is MIIEvQIBADANBgkqhkiG9w0BAQ')).toBe('line 2 is [secret PEM]');
  });

  test('of fewer than 8 characters is not looked for, and said to be too short', () => {
    const known = new KnownSecrets();
    expect([known.add('K', 'short-1'), known.add('K', '  long-e-8 \n')]).toEqual([false, true]);
    expect(known.text('short-1 long-e-8')).toBe('short-1 [secret K]');
  });

  test('in a megabyte of text with twenty secrets takes less than a second to find', () => {
    const known = knowing(...Array.from({ length: 20 }, (_, i): [string, string] => [`K${i}`, `value/${i}+of=secret${i * 7919}`]));
    const text = 'The quick brown fox /jumps+ over "the" lazy dog. '.repeat(21_000) + 'value/19+of=secret150461';
    const began = performance.now();
    expect(known.text(text).slice(-12)).toBe('[secret K19]');
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});

describe('where text leaves', () => {
  let uninstall: () => void;
  beforeAll(() => { uninstall = installRedactor(knowing(['CANARY', CANARY])); });
  afterAll(() => uninstall());

  test('R2.4 an error of any shape is told without the value, also when it is cut in the middle of it', () => {
    const header = Buffer.from(`user:${CANARY}`).toString('base64');
    for (const error of [
      new Error(`fetch failed for https://host/${encodeURIComponent(CANARY)}/x`), `thrown ${CANARY}`, new ToolError('server', `code-${CANARY}`, CANARY),
      new AggregateError([new Error(CANARY), CANARY]), { message: `x Authorization: Basic ${header}`, code: CANARY }, Object.assign(new Error('no'), { name: CANARY }),
    ]) {
      const text = JSON.stringify(failureOf(error));
      for (const form of Object.values(FORMS)) expect(text).not.toContain(form(CANARY));
      expect(text).not.toContain(header);
    }
    for (let pad = 980; pad < 1_030; pad += 1) expect(failureOf(new Error(`${'x'.repeat(pad)}${CANARY}`)).message).not.toContain('cana/');
    for (let pad = 270; pad < 310; pad += 1) expect(oneLine(`${'y'.repeat(pad)} ${CANARY}`, 300)).not.toContain('cana/');
  });

  test('a message of megabytes is looked at in its beginning only, and no half of a value stays at the seam', () => {
    for (let pad = 4_000; pad < 8_000; pad += 7) expect(cleanHead(`${'z'.repeat(pad)}${CANARY}${'z'.repeat(20_000)}`, 600).head).not.toContain('cana');
    const began = performance.now();
    expect(oneLine(`${CANARY} ${'m'.repeat(5_000_000)}`, 300)).toMatch(/^\[secret CANARY\] m+…$/);
    expect(performance.now() - began).toBeLessThan(500);
  });

  test('R2.4 JSON stays JSON: texts, member names and numbers are cleaned, everything else stays the same value', () => {
    const whole = { a: [1, { b: 'fine' }], c: null };
    expect(redactJson(whole)).toBe(whole);
    expect(redactJson({ [CANARY]: [`x${CANARY}`] })).toEqual({ '[secret CANARY]': ['x[secret CANARY]'] });
    expect(secretIn({ deep: [{ er: `x${encodeURIComponent(CANARY)}` }] })).toBe('CANARY');
    expect(secretIn({ deep: [{ [CANARY]: 1 }] })).toBe('CANARY');
    expect(secretIn(whole)).toBeNull();
    const digits = installRedactor(knowing(['PIN', '4915112345']));
    expect([redactJson({ n: 4915112345, m: 17 }), secretIn([4915112345])]).toEqual([{ n: '[secret PIN]', m: 17 }, 'PIN']);
    digits();
  });

  test('R2.4 bytes are cleaned: text by marks, JSON as JSON, everything else without moving anything', () => {
    const json = Buffer.from(JSON.stringify({ k: `"${CANARY}` }));
    expect(JSON.parse(Buffer.from(redactBytes(json, 'application/json')).toString())).toEqual({ k: '"[secret CANARY]' });
    expect(Buffer.from(redactBytes(Buffer.from(`# ${CANARY}`), 'text/markdown')).toString()).toBe('# [secret CANARY]');
    const binary = Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.from(CANARY), Buffer.from([0xff])]);
    expect(Buffer.from(redactBytes(binary, 'image/png'))).toEqual(Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.from('*'.repeat(CANARY.length)), Buffer.from([0xff])]));
    const clean = Buffer.from('nothing here');
    expect(redactBytes(clean, 'text/plain')).toBe(clean);
  });

  test('credentials that nobody has named are taken out of sentences, prose about them is not', () => {
    for (const said of ['Authorization: Bearer abc123def456', 'x-api-key=9f8e7d6c5b', 'https://bob:hunter22@host/x', 'GET /a?access_token=zyx987&b=1 failed', 'cookie: sid=abc; other=def', 'use sk-abcdef123456']) {
      expect(withoutCredentials(said)).not.toMatch(/abc123|9f8e|hunter|zyx|sid=abc|other=def|sk-abc/);
    }
    for (const said of ['basic authentication failed', 'the bearer certificates are fine', 'authorization: required for this', 'http://127.0.0.1:8080/p?key=k1:0123456789', 'bearer token']) expect(withoutCredentials(said)).toBe(said);
  });

  test('once it is taken out again, nothing is redacted', () => {
    const other = installRedactor(knowing(['OTHER', 'other-value-1']));
    expect(redactText('other-value-1')).toBe('[secret OTHER]');
    other();
    expect(redactText('other-value-1')).toBe('other-value-1');
  });
});

describe('values come', () => {
  const open = (env: Record<string, string>, secrets?: Record<string, { env: string } | { file: string }>, at = folder) => openSecrets({ config: { secrets }, folder: at, env });

  test('R2.4 from the place that the configuration names, LONGHAUL_SECRET_<NAME>, the file of secrets, and the variable of the name, in this order', () => {
    const at = mkdtempSync(path.join(folder, 'order-'));
    put(path.join(path.basename(at), 'secrets.env'), '# keys\nIN_FILE="value of the file"\nBOTH=file-of-both\n\nquoted=\'a=b # c d\'\n');
    put('one', 'value-of-one\n');
    const { value, notes } = open({ V: 'value-of-v', LONGHAUL_SECRET_BOTH: 'variable-of-both', LONGHAUL_SECRET_MY_KEY: 'value-of-my-key', PLAIN: 'value-of-plain' }, { named: { env: 'V' }, one: { file: path.join(folder, 'one') } }, at);
    expect(['named', 'one', 'BOTH', 'my-key', 'IN_FILE', 'quoted', 'PLAIN'].map(value)).toEqual(['value-of-v', 'value-of-one', 'variable-of-both', 'value-of-my-key', 'value of the file', 'a=b # c d', 'value-of-plain']);
    expect(notes).toEqual([]);
    expect(open({ LONGHAUL_SECRETS_FILE: put('other.env', 'ELSEWHERE=value-elsewhere') }).value('ELSEWHERE')).toBe('value-elsewhere');
  });

  test.each([0o644, 0o640, 0o604, 0o660])('R2.4 not from a file that others may read: mode %o is refused with one sentence that names chmod 600', (mode) => {
    const at = mkdtempSync(path.join(folder, 'mode-'));
    const file = put(path.join(path.basename(at), 'secrets.env'), 'K=a-long-enough-value', mode);
    expect(() => open({}, {}, at)).toThrow(new SecretsFileError(`The secrets file ${file} may be read by others (mode ${mode.toString(8)}): run chmod 600 ${file}`));
    expect(() => open({}, { one: { file } }).value('one')).toThrow(/chmod 600/);
  });

  test('with a fault in the file of secrets told by the number of its line, never by the line', () => {
    const file = put('wrong.env', 'FINE=value-value-1\nvalue-without-name-0451\n');
    expect(() => open({ LONGHAUL_SECRETS_FILE: file })).toThrow(`Line 2 of the secrets file ${file} cannot be read: write NAME=value.`);
    expect(() => open({ LONGHAUL_SECRETS_FILE: path.join(folder, 'none.env') })).toThrow(/cannot be read \(ENOENT\)/);
  });

  test('with a sentence on what to do for a secret that is not set or too short', () => {
    const { value, notes } = open({ SHORT: 'abc', LONGHAUL_SECRET_TINY: 'tiny' }, { missing: { env: 'NOT_THERE' } });
    expect(() => value('missing')).toThrow(new ToolError('permission', 'secret', 'The secret missing is not set: set LONGHAUL_SECRET_MISSING where the worker runs, or a line missing=... in secrets.env, and settle the run as retry.'));
    expect(() => value('SHORT')).toThrow(/fewer than 8 characters/);
    expect(notes).toEqual([expect.stringContaining('missing'), expect.stringContaining('LONGHAUL_SECRET_TINY')]);
  });

  test('R2.4 known at once are declared ones, LONGHAUL_SECRET_*, keys of models, and variables that look like credentials; others once they are read', () => {
    const { known, value } = open({ V: 'value-of-v-1', LONGHAUL_SECRET_A: 'value-of-a-1', OPENAI_API_KEY: 'sk-value-o', GITHUB_TOKEN: 'ghp_0123456789abcdef', POSTGRES_PASSWORD: 'postgres', LATER: 'value-of-later' }, { named: { env: 'V' } });
    expect(['value-of-v-1', 'value-of-a-1', 'sk-value-o', 'ghp_0123456789abcdef', 'postgres', 'value-of-later'].map((text) => known.found(text))).toEqual(['named', 'A', 'OPENAI_API_KEY', 'GITHUB_TOKEN', null, null]);
    expect(value('LATER')).toBe('value-of-later');
    expect(known.text('value-of-later')).toBe('[secret LATER]');
  });
});
