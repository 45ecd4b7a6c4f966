// Contract suite of the artifacts port: bytes under their sha256, whole or not at all.
import { strict as assert } from 'node:assert';
import { createHash, randomBytes } from 'node:crypto';
import type { ArtifactsPort } from '../../ports/artifacts';
import { ArtifactError } from '../../ports/artifacts';
import { Peer, withPeers } from './peers';
import { rejects, same, sleep, suite } from './suite';
import type { OpenForTest, Promised } from './suite';

/** Registers the suite. `open` makes a fresh, empty store for each test. */
export function artifactsContract(name: string, open: OpenForTest): void {
  suite(`${name}: bytes under their sha256`, open, keeping);
  suite(`${name}: several processes and kills`, open, between, 180_000);
}

const about = { mediaType: 'text/plain', summary: 'a text' };
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

async function allOf(artifacts: ArtifactsPort): Promise<string[]> {
  const ids: string[] = [];
  for await (const id of artifacts.list()) ids.push(id);
  return ids.sort();
}

/** The code and id with which a read fails. */
async function failureOf(reading: Promise<unknown>): Promise<[string, string]> {
  const error = await reading.then(() => null, (thrown: unknown) => thrown);
  assert.ok(error instanceof ArtifactError, `expected an ArtifactError, got ${String(error)}`);
  return [error.code, error.sha256];
}

const keeping: Promised = {
  'what is written is read back, under the sha256 of its content, with what was said about it': async ({ stores: { artifacts }, again }) => {
    const bytes = Buffer.from('hello, world');
    const ref = await artifacts.write(bytes, { ...about, name: 'hello.txt' });
    same(ref, { sha256: sha256Of(bytes), bytes: 12, mediaType: 'text/plain', summary: 'a text', name: 'hello.txt' });
    const other = await again();
    same(text(await other.artifacts.read(ref.sha256)), 'hello, world');
    same([await other.artifacts.has(ref.sha256), await other.artifacts.verify(ref.sha256)], [true, 'ok']);
    await other.close();
  },
  'empty and large contents are kept alike': async ({ stores: { artifacts } }) => {
    for (const bytes of [Buffer.alloc(0), randomBytes(9 * 1024 * 1024 + 1)]) {
      const { sha256, bytes: length } = await artifacts.write(bytes, about);
      same([sha256, length], [sha256Of(bytes), bytes.byteLength]);
      assert.ok(bytes.equals(await artifacts.read(sha256)));
    }
  },
  'the same bytes are stored once, whatever is said about them': async ({ stores: { artifacts } }) => {
    const first = await artifacts.write(Buffer.from('x'), about);
    const second = await artifacts.write(Buffer.from('x'), { mediaType: 'text/html', summary: 'other' });
    same([second.sha256, second.mediaType], [first.sha256, 'text/html']);
    same(await allOf(artifacts), [first.sha256]);
  },
  'a summary is cut to 300 bytes and never inside a character': async ({ stores: { artifacts } }) => {
    const { summary } = await artifacts.write(Buffer.from('x'), { ...about, summary: `x${'é'.repeat(400)}` });
    same(summary, `x${'é'.repeat(149)}`);
  },
  'a range is the bytes from start up to end, and stops at the last': async ({ stores: { artifacts } }) => {
    const { sha256 } = await artifacts.write(Buffer.from('0123456789'), about);
    const ranges = [[0, 4], [4, 4], [8, 99], [20, 30], [-3, 2]] as const;
    same(await Promise.all(ranges.map(async ([start, end]) => text(await artifacts.readRange(sha256, start, end)))), ['0123', '', '89', '', '01']);
  },
  'missing bytes are named, and nothing is made up': async ({ stores: { artifacts }, lose }) => {
    const { sha256 } = await artifacts.write(Buffer.from('x'), about);
    await lose(sha256);
    same(await failureOf(artifacts.read(sha256)), ['missing', sha256]);
    same(await failureOf(artifacts.readRange(sha256, 0, 1)), ['missing', sha256]);
    same([await artifacts.has(sha256), await artifacts.verify(sha256), await allOf(artifacts)], [false, 'missing', []]);
  },
  'R3.2 one changed byte is found at every read, also of a range that does not hold it': async ({ stores: { artifacts }, damage }) => {
    const { sha256 } = await artifacts.write(randomBytes(100_000), about);
    await damage(sha256);
    same(await failureOf(artifacts.read(sha256)), ['corrupt', sha256]);
    same(await failureOf(artifacts.readRange(sha256, 0, 1)), ['corrupt', sha256]);
    same(await artifacts.verify(sha256), 'corrupt');
  },
  'writing the right bytes again heals a damaged or lost artifact': async ({ stores: { artifacts }, damage, lose }) => {
    for (const harm of [damage, lose]) {
      const { sha256 } = await artifacts.write(Buffer.from('precious'), about);
      await harm(sha256);
      await artifacts.write(Buffer.from('precious'), about);
      same(text(await artifacts.read(sha256)), 'precious');
    }
  },
  'an artifact is removed by its age, and one that was written again since stays': async ({ stores: { artifacts }, again }) => {
    const { sha256 } = await artifacts.write(Buffer.from('old'), about);
    const first = (await artifacts.stat(sha256))!;
    same([first.bytes, Math.abs(Date.now() - first.writtenAt) < 60_000], [3, true]);
    same([await artifacts.remove(sha256, first.writtenAt - 1_000), await artifacts.has(sha256)], ['younger', true]);
    await sleep(1_100);
    await artifacts.write(Buffer.from('old'), about);
    const later = (await artifacts.stat(sha256))!.writtenAt;
    assert.ok(later > first.writtenAt, 'the same bytes again count as written now');
    same([await artifacts.remove(sha256, later), text(await artifacts.read(sha256))], ['younger', 'old']);
    same([await artifacts.remove(sha256, later + 1_000), await artifacts.has(sha256), await artifacts.stat(sha256), await artifacts.remove(sha256, later + 1_000)], ['removed', false, null, 'missing']);
    const other = await again();
    same([await other.artifacts.verify(sha256), await allOf(other.artifacts), await other.artifacts.stat('../x'), await other.artifacts.remove('../x', Date.now())], ['missing', [], null, 'missing']);
    await other.artifacts.write(Buffer.from('old'), about);
    same(text(await artifacts.read(sha256)), 'old');
    await other.close();
  },
  'R10.8 an id that is no sha256 is missing, wherever it points': async ({ stores: { artifacts } }) => {
    for (const id of ['', '../longhaul.db', 'a'.repeat(63), 'A'.repeat(64), `${'a'.repeat(64)}/../x`]) {
      same([await artifacts.has(id), await artifacts.verify(id)], [false, 'missing']);
      await rejects(artifacts.read(id), /is missing/);
    }
  },
};

const between: Promised = {
  'many writers of the same bytes, in two processes, leave one whole artifact': async (under) => {
    const bytes = randomBytes(300_000);
    await withPeers(under, 2, async (peers) => {
      const asked = peers.flatMap((peer) => Array.from({ length: 5 }, () => peer.call('artifacts', 'write', bytes, about)));
      same([...new Set((await Promise.all(asked)).map(({ sha256 }) => sha256))], [sha256Of(bytes)]);
    });
    same(await allOf(under.stores.artifacts), [sha256Of(bytes)]);
    same(await under.stores.artifacts.verify(sha256Of(bytes)), 'ok');
  },
  'R1.1 a process killed while it writes leaves no torn artifact and loses none that was acknowledged, 10 times': async (under) => {
    const { artifacts } = under.stores;
    const told: string[] = [];
    for (let kill = 0; kill < 10; kill++) {
      const peer = await Peer.start(under);
      await peer.stream({ stream: 'write', count: 4_000_000 });
      await sleep(Math.random() * 30);
      await peer.kill();
      told.push(...(peer.told as string[]));
    }
    for (const sha256 of new Set([...(await allOf(artifacts)), ...told])) same(await artifacts.verify(sha256), 'ok');
    assert.ok(told.length >= 10);
  },
};
