// Promises of the payload keys, the codec, the failure converter and the codec server, without a Temporal server: what is written by
// one key is read by it alone, plain stays plain, the file's manners, and who the codec server answers.
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ApplicationFailure, defaultPayloadConverter, type Payload } from '@temporalio/common';
import { MissingKeyError, EncryptionCodec, kidOfPayload } from '../../src/adapters/codec/codec';
import { openEncryption, selfTest } from '../../src/adapters/codec/encryption';
import { failureConverter } from '../../src/adapters/codec/failure-converter';
import { openPayloadKeys, PAYLOAD_KEYS_FILE } from '../../src/adapters/codec/payload-keys';
import { openCodecServer, type CodecServer } from '../../src/adapters/codec/server';
import { installRedactor } from '../../src/ports/redaction';
import { openSecrets } from '../../src/adapters/secrets/sources';

let folder: string;
const at = (): string => path.join(folder, PAYLOAD_KEYS_FILE);
beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'longhaul-payload-')); });
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const keysHere = (env: NodeJS.ProcessEnv = {}) => openPayloadKeys({ stateDir: folder, env });
const payload = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const valueOf = (one: Payload | undefined): unknown => defaultPayloadConverter.fromPayload(one!);
const codecHere = (encrypts = true) => new EncryptionCodec(keysHere(), encrypts);

test('what a key encrypts it alone decrypts, never twice the same, and nothing of it can be seen', async () => {
  keysHere().ensure();
  const value = { text: 'a word that is not to be seen', n: [1, null, 'é'] };
  const [one, two] = await codecHere().encode([payload(value), payload(value)]);
  expect([one, two].map((each) => kidOfPayload(each!))).toEqual([keysHere().newest()!.kid, keysHere().newest()!.kid]);
  expect(Buffer.from(one!.data!)).not.toEqual(Buffer.from(two!.data!));
  expect(Buffer.from(one!.data!).toString('latin1')).not.toMatch(/word|json/);
  expect((await codecHere().decode([one!, two!])).map(valueOf)).toEqual([value, value]);
  expect(await codecHere().encode([one!])).toEqual([one]);
  rmSync(at());
  keysHere().ensure();
  await expect(codecHere().decode([one!])).rejects.toBeInstanceOf(MissingKeyError);
});

test('payloads in plain pass, of every kind and empty ones; a changed or cut one is refused without a word of it', async () => {
  keysHere().ensure();
  const plain = [payload('x'), payload(new Uint8Array([1, 2])), payload(undefined), {}];
  expect(await codecHere().decode(plain)).toEqual(plain);
  expect((await codecHere().decode(await codecHere().encode(plain.slice(0, 3)))).map((one) => Buffer.from(one.data ?? []))).toEqual(plain.slice(0, 3).map((one) => Buffer.from(one.data ?? [])));
  expect(await codecHere(false).encode(plain)).toBe(plain);
  const [sealed] = await codecHere().encode([payload('secret word')]);
  const bent = Buffer.from(sealed!.data!);
  bent.writeUInt8(bent.readUInt8(20) ^ 1, 20);
  for (const data of [bent, bent.subarray(0, 20), Buffer.alloc(0)]) {
    const fault = await codecHere().decode([{ ...sealed, data }]).then(() => '', (error: Error) => error.message);
    expect(fault).toMatch(/^A payload of key p-[0-9a-f]{12} cannot be decrypted: it was changed or cut off/);
  }
});

test('the newest key encrypts unless it waits, each decrypts, and what changes counts without another start', async () => {
  const keys = keysHere();
  expect([keys.list(), keys.newest(), existsSync(at())]).toEqual([[], null, false]);
  const codec = new EncryptionCodec(keys, true);
  await expect(codec.encode([payload(0)])).rejects.toThrow('there is no key that does');
  expect([keys.ensure(), keys.ensure()]).toEqual([true, false]);
  const [first] = await codec.encode([payload(1)]);
  const later = keysHere().add({ waits: true });
  expect(kidOfPayload((await codec.encode([payload(2)]))[0]!)).toBe(kidOfPayload(first!));
  expect([keysHere().use(later), keysHere().use('p-000000000000')]).toEqual([true, false]);
  const [second] = await codec.encode([payload(2)]);
  expect(kidOfPayload(second!)).toBe(later);
  const third = keysHere().add();
  expect(keysHere().list().map(({ encrypts, waits }) => [encrypts, waits])).toEqual([[false, false], [false, false], [true, false]]);
  expect((await codec.decode([first!, second!])).map(valueOf)).toEqual([1, 2]);
  copyFileSync(at(), `${at()}.copy`);
  expect([keysHere().remove(later), keysHere().remove(later)]).toEqual([true, false]);
  await expect(codec.decode([second!])).rejects.toThrow(`The payload key ${later} is missing (${at()}): put it back with \`npx longhaul keys import COPY\``);
  expect([keysHere().take(`${at()}.copy`), keysHere().take(`${at()}.copy`), keysHere().newest()?.kid]).toEqual([[later], [], third]);
  expect((await codec.decode([second!])).map(valueOf)).toEqual([2]);
});

test('the file is for its owner alone, damage is told without a word of it, and a process keeps the keys that it has', async () => {
  keysHere().ensure();
  expect(statSync(at()).mode & 0o777).toBe(0o600);
  const codec = codecHere();
  const [sealed] = await codec.encode([payload(1)]);
  const whole = readFileSync(at(), 'utf8');
  const key = (JSON.parse(whole) as { keys: { key: string }[] }).keys[0]!.key;
  chmodSync(at(), 0o644);
  expect(() => keysHere().newest()).toThrow('may be read by others');
  chmodSync(at(), 0o600);
  const other = randomBytes(32).toString('base64url');
  for (const text of ['', '{"v":1', whole.replace('"v": 1', '"v": 2'), whole.replace(key, other), whole.replace(key, 'short')]) {
    writeFileSync(at(), text);
    expect(() => keysHere().newest()).toThrow(`The payload keys ${at()} are damaged: put the file back from a copy.`);
  }
  expect((await codec.decode([sealed!])).map(valueOf)).toEqual([1]);
  rmSync(at());
  expect((await codec.decode(await codec.encode([payload(2)]))).map(valueOf)).toEqual([2]);
});

test('keys that were made here and are gone are missed: what would go out in plain is refused, and reading goes on', async () => {
  expect(keysHere().gone()).toBe(false);
  expect(openEncryption({ stateDir: folder, env: {}, demanded: true, make: true }).on).toBe(true);
  const [sealed] = await codecHere().encode([payload('mine')]);
  renameSync(at(), `${at()}.copy`);
  const gone = openEncryption({ stateDir: folder, env: {}, demanded: true, make: true });
  expect([gone.on, gone.keys.gone(), existsSync(at())]).toEqual([true, true, false]);
  const [codec] = gone.dataConverter.payloadCodecs ?? [];
  await expect(codec!.encode([payload('mine')])).rejects.toThrow(/there is no key that does .*the file is gone; put it back from a copy, or set LONGHAUL_ENCRYPTION=off/);
  await expect(selfTest(gone)).rejects.toThrow('the file is gone');
  await expect(codec!.decode([sealed!])).rejects.toThrow(MissingKeyError);
  expect((await codec!.decode([payload('in plain')])).map(valueOf)).toEqual(['in plain']);
  expect(openEncryption({ stateDir: folder, env: { LONGHAUL_ENCRYPTION: 'off' } }).on).toBe(false);
  renameSync(`${at()}.copy`, at());
  expect([keysHere().gone(), (await codec!.decode([sealed!])).map(valueOf)]).toEqual([false, ['mine']]);
  for (const { kid } of keysHere().list()) keysHere().remove(kid);
  expect([keysHere().gone(), openEncryption({ stateDir: folder, env: {} }).on]).toEqual([false, false]);
});

test('keys from the environment: the first encrypts, each decrypts, they cannot be changed here, and they are secrets', () => {
  const [one, two] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64url')];
  const env = { LONGHAUL_PAYLOAD_KEYS: `${one}, ${two}` };
  const keys = keysHere(env);
  expect(keys.list().map(({ encrypts }) => encrypts)).toEqual([false, true]);
  expect(keys.newest()?.key.toString('base64')).toBe(one);
  expect(keys.list().every(({ kid }) => keys.byId(kid) !== null)).toBe(true);
  expect(() => keys.add()).toThrow('come from LONGHAUL_PAYLOAD_KEYS');
  expect(() => keysHere({ LONGHAUL_PAYLOAD_KEYS: 'dG9vc2hvcnQ=' })).toThrow('holds a key of 8 bytes');
  const elsewhere = path.join(folder, 'elsewhere.json');
  keysHere({ LONGHAUL_PAYLOAD_KEYS_FILE: elsewhere }).ensure();
  expect([existsSync(elsewhere), existsSync(at())]).toEqual([true, false]);
  const uninstall = installRedactor(openSecrets({ config: null, folder, env }).known);
  expect(openSecrets({ config: null, folder, env }).known.text(`one ${one} two ${two}`)).toBe('one [secret LONGHAUL_PAYLOAD_KEYS] two [secret LONGHAUL_PAYLOAD_KEYS]');
  uninstall();
});

test('encryption is on where keys are or where it is demanded, and nothing starts that would send in plain what should not', async () => {
  const open = (env: NodeJS.ProcessEnv, more: object = {}) => openEncryption({ stateDir: folder, env, ...more });
  expect([open({}).on, open({ LONGHAUL_ENCRYPTION: 'off' }).on, open({}).dataConverter.failureConverterPath]).toEqual([false, false, undefined]);
  expect(() => open({ LONGHAUL_ENCRYPTION: 'on' })).toThrow('Payloads are to be encrypted, and there are no keys here');
  expect(() => open({}, { demanded: true })).toThrow('make them with `npx longhaul keys create`');
  expect(() => open({ LONGHAUL_ENCRYPTION: 'yes' })).toThrow('set it to on or off');
  expect(open({}, { make: true }).on).toBe(false);
  expect(open({ LONGHAUL_ENCRYPTION: 'on' }, { make: true }).on).toBe(true);
  expect([open({}).on, open({ LONGHAUL_ENCRYPTION: 'off' }).on, open({ LONGHAUL_ENCRYPTION: 'off' }, { demanded: true }).on]).toEqual([true, false, true]);
  await selfTest(open({}));
  const broken = open({});
  await expect(selfTest({ ...broken, dataConverter: { payloadCodecs: [{ encode: async (all) => all, decode: async (all) => all }] } })).rejects.toThrow('do not work');
});

test('R10.9 a failure keeps message, stack and causes in a payload; only that a key is missing is said in plain, in a sentence of ours', () => {
  const error = ApplicationFailure.create({ message: 'token abc', type: 'Refused', details: ['detail abc'], cause: new Error('cause abc') });
  const failure = failureConverter.errorToFailure(error, defaultPayloadConverter);
  expect(failure).toMatchObject({ message: 'Encoded failure', stackTrace: '', cause: { message: 'Encoded failure', stackTrace: '' }, applicationFailureInfo: { type: 'Refused' } });
  expect(failureConverter.failureToError(failure, defaultPayloadConverter)).toMatchObject({ message: 'token abc', cause: { message: 'cause abc' } });
  const missing = failureConverter.errorToFailure(ApplicationFailure.fromError(new MissingKeyError('p-0123456789ab', '/a/place'), { message: `Failed to parse activity args for activity call: The payload key p-0123456789ab is missing (/a/place)` }), defaultPayloadConverter);
  expect(missing).toMatchObject({ message: expect.stringMatching(/^The payload key p-0123456789ab is missing where the worker runs/), stackTrace: '', applicationFailureInfo: { type: 'MissingKeyError', nonRetryable: false } });
  expect(JSON.stringify(missing)).not.toContain('/a/place');
  const posing = Object.assign(new Error('secret abc'), { name: 'MissingKeyError' });
  expect(failureConverter.errorToFailure(posing, defaultPayloadConverter).message).toBe('Encoded failure');
});

describe('the codec server', () => {
  let server: CodecServer;
  const origin = 'http://127.0.0.1:8233';
  beforeEach(async () => {
    keysHere().ensure();
    server = await openCodecServer({ codec: codecHere(), port: 0, origins: [origin], token: 'a-token' });
  });
  afterEach(() => server.close());

  interface Asked { path?: string; method?: string; headers?: Record<string, string>; body?: string }
  function ask({ path: where = '/a-token/decode', method = 'POST', headers = {}, body = '{"payloads":[]}' }: Asked = {}): Promise<{ status: number; text: string; headers: Record<string, unknown> }> {
    return new Promise((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port: server.port, path: where, method, headers }, (answer) => {
        let text = '';
        answer.on('data', (part: Buffer) => { text += part.toString('utf8'); }).on('end', () => resolve({ status: answer.statusCode ?? 0, text, headers: answer.headers }));
      });
      asked.once('error', reject);
      asked.end(method === 'POST' ? body : undefined);
    });
  }
  const wire = ({ metadata, data }: Payload) => ({ metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')])), data: Buffer.from(data ?? []).toString('base64') });

  test('encodes and decodes as the Web UI and the command line ask, and what it cannot read it names by its key', async () => {
    const plain = wire(payload({ a: 'word' }));
    const encoded = await ask({ path: '/a-token/encode', body: JSON.stringify({ payloads: [plain] }) });
    expect([encoded.status, encoded.text.includes(plain.data)]).toEqual([200, false]);
    const decoded = await ask({ path: '/decode', headers: { authorization: 'Bearer a-token' }, body: encoded.text });
    expect([decoded.status, JSON.parse(decoded.text)]).toEqual([200, { payloads: [plain] }]);
    const kid = keysHere().newest()!.kid;
    keysHere().add();
    keysHere().remove(kid);
    const missing = await ask({ body: encoded.text });
    expect([missing.status, missing.text]).toEqual([422, expect.stringContaining(`The payload key ${kid} is missing`)]);
  });

  test.each<[string, Asked, number]>([
    ['another host name', { headers: { host: 'evil.example' } }, 403],
    ['a page of elsewhere', { headers: { origin: 'http://evil.example' } }, 403],
    ['a preflight of elsewhere', { method: 'OPTIONS', headers: { origin: 'http://evil.example' } }, 403],
    ['a wrong token', { path: '/b-token/decode' }, 401],
    ['no token', { path: '/decode' }, 401],
    ['another method', { method: 'GET' }, 405],
    ['another path', { path: '/a-token/history' }, 404],
    ['a path above', { path: '/a-token/../decode' }, 401],
    ['a body that is no JSON', { body: 'payloads' }, 400],
    ['a body of another shape', { body: '{"payloads":[{"metadata":{"a":1}}]}' }, 400],
  ])('R10.8 %s is refused', async (_, asked, status) => {
    expect((await ask(asked)).status).toBe(status);
  });

  test('a preflight of the Web UI is answered for its origin alone, and a server that only decodes encodes nothing', async () => {
    const preflight = await ask({ method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type,x-namespace' } });
    expect([preflight.status, preflight.headers]).toEqual([204, expect.objectContaining({ 'access-control-allow-origin': origin, 'access-control-allow-headers': expect.stringContaining('x-namespace'), vary: 'origin' })]);
    const only = await openCodecServer({ codec: codecHere(), port: 0, origins: [], token: createHash('sha256').digest('hex'), decodeOnly: true });
    expect((await fetch(`${only.url}/encode`, { method: 'POST', body: '{"payloads":[]}' })).status).toBe(403);
    await only.close();
  });
});
