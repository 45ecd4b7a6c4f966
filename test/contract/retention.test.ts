// What is kept of runs and what goes: archives that need no store, purged runs whose ids stay taken, and garbage among the artifacts.
// On the embedded stores with journals that the law has written; no server is needed for any of it.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createClient, type LonghaulClient } from '../../src/client/client';
import { ending } from '../../src/cli/act';
import { Stop } from '../../src/cli/exit';
import { programOf } from '../../src/cli/program';
import { archiveRun, sweepArchives } from '../../src/cli/retention/archive';
import { judged } from '../../src/cli/retention/judge-archive';
import { collectGarbage } from '../../src/cli/retention/garbage';
import { purgeRun } from '../../src/cli/retention/purge';
import type { Stores } from '../../src/adapters/stores/open-stores';
import { canonical, type Json } from '../../src/core/canonical';
import type { ArtifactRef, Output, RunSpec } from '../../src/core/run';
import { inputDigestOf } from '../../src/core/spec';
import { rowOf } from '../../src/core/summary';
import { ANN } from '../rig/rig';
import { GivenRun, returned, start, toolStep } from '../../src/testing/scenario';
import { initialState } from '../../src/core/initial';
import type { CallResult } from '../../src/core/world';
import { embedded, freshFolder } from './store-open';

const DAY = 86_400_000;
let under: Awaited<ReturnType<typeof embedded>>;
let stores: Stores;
let client: LonghaulClient;
let out: string;
beforeEach(async () => {
  under = await embedded();
  stores = under.stores as Stores;
  client = createClient({ stores });
  out = freshFolder();
});
afterEach(async () => {
  await under.close();
  rmSync(out, { recursive: true, force: true });
});

const write = (text: string): Promise<ArtifactRef> => stores.artifacts.write(Buffer.from(text), { mediaType: 'text/plain', summary: text.slice(0, 20) });

/** A run with one reader, whose result is given; over unless `open`. Its last event is `ago` ms old. */
async function run(runId: string, { output = { value: 1 }, open = false, parent, ago = 0 }: { output?: Output; open?: boolean; parent?: RunSpec['parent']; ago?: number } = {}): Promise<void> {
  const spec: RunSpec = { v: 1, agent: 'clerk', input: { of: runId }, plan: null, budget: {}, owner: ANN, ...(parent ? { parent } : {}) };
  const inputRef = await stores.artifacts.write(Buffer.from(canonical(spec as unknown as Json)), { mediaType: 'application/json', summary: 'asked' });
  const begin = start({ runId, steps: [toolStep('look', 'read'), toolStep('next', 'read', { dependsOn: ['look'] })] });
  if (begin.type !== 'Start') throw new Error('no start');
  const fresh = { ...begin.fresh, inputRef, inputDigest: inputDigestOf(spec) };
  const result: CallResult = { kind: 'succeeded', output, summary: 'done', via: 'sent', settled: true };
  const begun = new GivenRun(initialState(runId), Date.now() - ago, []).when({ ...begin, fresh }).when(returned('c1', 1, result));
  const { journal, state } = open ? begun : begun.when(returned('c2', 1, result));
  const row = { ...rowOf(state), epoch: 1 };
  await stores.journal.accept({ ...row, status: 'accepted', version: 0 });
  await stores.journal.append({ runId, epoch: 1, executionId: 'x', expectedVersion: 0, events: [...journal], row });
}
const ids = async (): Promise<string[]> => {
  const all: string[] = [];
  for await (const id of stores.artifacts.list()) all.push(id);
  return all.sort();
};

test('R2.3 an archive has the journal, the ledger and every artifact, also those that artifacts mention, and is judged without any store', async () => {
  const deep = await write('the deepest');
  const middle = await write(JSON.stringify({ see: deep.sha256 }));
  const other = await write('of nobody');
  await run('r1', { output: { ref: middle } });
  const { folder, archive, before } = await archiveRun(stores, client, 'r1', out);
  expect([before, archive.events, archive.absent]).toEqual([false, (await stores.journal.head('r1'))?.version, expect.any(Array)]);
  await under.stores.close();
  const again = await judged(folder, 'r1', archive.events);
  expect(again).toEqual(archive);
  const there = readdirSync(path.join(folder, 'artifacts'), { recursive: true }).map(String).filter((name) => name.includes('/')).map((name) => name.replace('/', ''));
  expect([deep, middle, other].map(({ sha256 }) => there.includes(sha256))).toEqual([true, true, false]);
  expect(readdirSync(out)).toEqual(['r1']);
});

test('an archive that was made before is judged again, and one that was damaged is refused and nothing removed', async () => {
  await run('r1', { output: { ref: await write('precious') } });
  const { folder } = await archiveRun(stores, client, 'r1', out);
  expect((await archiveRun(stores, client, 'r1', out)).before).toBe(true);
  const [shelf] = readdirSync(path.join(folder, 'artifacts'));
  const [name] = readdirSync(path.join(folder, 'artifacts', shelf!));
  writeFileSync(path.join(folder, 'artifacts', shelf!, name!), 'spoilt');
  await expect(archiveRun(stores, client, 'r1', out)).rejects.toThrow(/artifact .* does not match its checksum.*Nothing was removed/);
  expect((await stores.journal.head('r1'))?.version).toBeGreaterThan(0);
});

/** Another store on another machine, with a run of the same id and as many events. */
async function elsewhere(runId: string, more: Parameters<typeof run>[1]): Promise<() => Promise<void>> {
  const here = { stores, client };
  const other = await embedded();
  stores = other.stores as Stores;
  client = createClient({ stores });
  await run(runId, more);
  return async () => {
    ({ stores, client } = here);
    await other.close();
  };
}

test('an archive of another run of that id, with as many events, is refused, and the run stays', async () => {
  await run('daily', { output: { value: 'first' } });
  await archiveRun(stores, client, 'daily', out);
  for (const more of [{ output: { value: 'second' } }, { output: { value: 'first' }, parent: { runId: 'above', callId: 'c1', callbackId: 'cb', depth: 1 } }]) {
    const back = await elsewhere('daily', more);
    await expect(archiveRun(stores, client, 'daily', out)).rejects.toThrow(/is not of run daily as it is in this store: (its row|its input has digest).*Nothing was removed.*another --out/);
    expect((await client.show('daily')).row.status).toBe('completed');
    await back();
  }
  expect((await archiveRun(stores, client, 'daily', out)).before).toBe(true);
});

test.each(['journal.jsonl', 'ledger.json', 'archive.json'])('an archive whose %s was emptied or cut, or says something else, is refused', async (name) => {
  await run('r1');
  const { folder } = await archiveRun(stores, client, 'r1', out);
  const file = path.join(folder, name);
  const whole = readFileSync(file, 'utf8');
  for (const text of ['', whole.slice(0, whole.length - 2), 'null', '[{}]']) {
    writeFileSync(file, text);
    await expect(archiveRun(stores, client, 'r1', out)).rejects.toThrow(Stop);
  }
  writeFileSync(file, whole);
  expect((await archiveRun(stores, client, 'r1', out)).before).toBe(true);
});

test('an archive that lacks an artifact, or was made before the last news of an effect or of an artifact, is refused', async () => {
  const [own, sent] = [await write('precious'), await write('named by the ledger')];
  const absent = createHash('sha256').update('later').digest('hex');
  await run('r1', { output: { value: { own: own as unknown as Json, later: { sha256: absent } } } });
  const { folder, archive } = await archiveRun(stores, client, 'r1', out);
  expect(archive.absent).toContain(absent);
  await write('later');
  await expect(archiveRun(stores, client, 'r1', out)).rejects.toThrow(`artifact ${absent} was missing when it was made`);
  await stores.artifacts.remove(absent, Date.now() + DAY);
  expect((await archiveRun(stores, client, 'r1', out)).before).toBe(true);
  const late = { ...stores, ledger: { ...stores.ledger, byRun: async () => [{ key: 'k1', runId: 'r1', callId: 'c9', tool: 'publish', state: 'done', now: 1, outcome: { kind: 'done', output: { ref: sent }, summary: '' } }] as never } };
  await expect(archiveRun(late, client, 'r1', out)).rejects.toThrow(/other news of publish c9/);
  rmSync(path.join(folder, 'artifacts', own.sha256.slice(0, 2), own.sha256.slice(2)));
  await expect(archiveRun(stores, client, 'r1', out)).rejects.toThrow(/it has \d+ artifacts/);
});

test('an archive that was made by somebody who died after the purge is found by whoever asks again, and one that was only begun is removed in time', async () => {
  await run('r1');
  await run('r2');
  const { archive } = await archiveRun(stores, client, 'r1', out);
  await purgeRun(stores, client, 'r1');
  await purgeRun(stores, client, 'r2');
  expect(await archiveRun(stores, client, 'r1', out)).toEqual({ folder: path.join(out, 'r1'), archive, before: true });
  await expect(archiveRun(stores, client, 'r2', out)).rejects.toThrow(/Run r2 was purged at/);
  const [old, fresh] = ['.longhaul-partial-r2-abc', '.longhaul-partial-r3-def'].map((name) => path.join(out, name)) as [string, string];
  for (const folder of [old, fresh]) {
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'journal.jsonl'), '{');
  }
  utimesSync(old, new Date(Date.now() - 2 * DAY), new Date(Date.now() - 2 * DAY));
  await sweepArchives(out);
  expect(readdirSync(out).sort()).toEqual(['.longhaul-partial-r3-def', 'r1']);
});

test('a run that is open, or whose own artifact is missing, is not archived, and leaves no folder behind', async () => {
  const ref = await write('lost');
  await run('r1', { output: { ref } });
  await run('r2', { open: true });
  await under.lose(ref.sha256);
  await expect(archiveRun(stores, client, 'r1', out)).rejects.toThrow(`Artifact ${ref.sha256} of the run is missing`);
  await expect(archiveRun(stores, client, 'r2', out)).rejects.toThrow(/is running: only a run that is over is archived/);
  expect(readdirSync(out)).toEqual([]);
});

test('R4.2 a purged run is told apart from one that never was, and its id and so its keys are never given out again', async () => {
  await run('r1');
  await run('r2', { open: true });
  expect(await purgeRun(stores, client, 'r1')).toMatchObject({ kind: 'purged', purged: { status: 'completed', doubts: [] } });
  expect(await purgeRun(stores, client, 'r1')).toMatchObject({ kind: 'already' });
  await expect(client.show('r1')).rejects.toThrow(/Run r1 was purged at .*it was completed/);
  expect(await client.start({ runId: 'r1', agent: 'clerk', input: { of: 'r1' }, owner: ANN })).toMatchObject({ kind: 'refused', why: expect.stringMatching(/was purged.*not given out again/) });
  expect(await client.fork('r2', { at: 1, runId: 'r1', owner: ANN }).catch((error: Error) => error.message)).not.toMatchObject({ kind: 'forked' });
  expect(await purgeRun(stores, client, 'r2')).toMatchObject({ kind: 'refused', why: expect.stringMatching(/is running: only a run that is over is purged/) });
  await expect(purgeRun(stores, client, 'nobody')).rejects.toThrow(/There is no run nobody/);
});

test('a child is kept as long as its parent is open, which reads how it ended', async () => {
  await run('above', { open: true });
  await run('below', { parent: { runId: 'above', callId: 'c1', callbackId: 'cb', depth: 1 } });
  expect(await purgeRun(stores, client, 'below')).toMatchObject({ kind: 'held', why: expect.stringMatching(/started by run above, which is running/) });
});

test('of many runs, one that an open run may still read is kept, which is no error; asked for by its name it is one', async () => {
  await run('above', { open: true });
  await run('below', { parent: { runId: 'above', callId: 'c1', callbackId: 'cb', depth: 1 }, ago: DAY });
  await run('other', { ago: DAY });
  const said: string[] = [];
  const spies = [jest.spyOn(process.stdout, 'write'), jest.spyOn(process.stderr, 'write')].map((spy) => spy.mockImplementation((text) => said.push(String(text)) > 0));
  const codeOf = async (...words: string[]): Promise<number> => {
    await programOf('0').parseAsync(['node', 'longhaul', 'runs', ...words, '--state-dir', String(under.elsewhere!.argument)]);
    return ending.code;
  };
  try {
    expect(await codeOf('archive', '--older-than', '1h', '--out', out, '--purge')).toBe(0);
    expect(await codeOf('purge', '--older-than', '1h')).toBe(0);
    expect(await codeOf('purge', 'below')).toBe(1);
  } finally {
    spies.forEach((spy) => spy.mockRestore());
  }
  expect(said.join('')).toMatch(/started by run above(?:.|\n)*2 runs archived and read back\.\n(?:.|\n)*0 runs purged, 1 kept for open runs\.\n/);
  expect([await stores.journal.row('other'), (await stores.journal.row('below'))?.status]).toEqual([null, 'completed']);
});

describe('garbage', () => {
  const NONE = { execution: () => Promise.reject(new Error('no server')) };
  const idle = { status: 'RUNNING', closedAt: null, taskAttempt: 0, missingKey: null, activities: [] };
  const collect = (more: Partial<Parameters<typeof collectGarbage>[2]> = {}, asks: Parameters<typeof collectGarbage>[1] = NONE) =>
    collectGarbage(stores, asks, { graceMs: 7 * DAY, dryRun: false, now: Date.now() + 10 * DAY, ...more });

  test('R3.3 only what nothing names or mentions goes; a dry run counts the same and removes nothing', async () => {
    const deep = await write('mentioned');
    const named = await write(JSON.stringify({ see: [deep.sha256] }));
    const [one, two] = [await write('garbage'), await write('more garbage')];
    await write(JSON.stringify({ only: one.sha256 }));
    await run('r1', { output: { ref: named } });
    const dry = await collect({ dryRun: true });
    expect(dry).toMatchObject({ artifacts: 6, named: 2, mentioned: 1, young: 0, held: 0, garbage: 3, removed: 0 });
    expect(await ids()).toHaveLength(6);
    expect(await collect()).toMatchObject({ ...dry, removed: 3 });
    expect((await ids()).filter((id) => [deep, named, one, two].some(({ sha256 }) => sha256 === id)).sort()).toEqual([deep.sha256, named.sha256].sort());
    expect((await client.show('r1')).row.status).toBe('completed');
    expect(await collect()).toMatchObject({ artifacts: 3, garbage: 0, removed: 0 });
  });

  test('what is younger than the grace time stays, and so does what was written again since', async () => {
    await write('young');
    expect(await collect({ now: Date.now() + 6 * DAY })).toMatchObject({ artifacts: 1, young: 1, garbage: 0 });
    expect(await collect()).toMatchObject({ garbage: 1, removed: 1 });
  });

  test('an open run that may have something under way holds what was written since its last event; one that waits in Temporal does not', async () => {
    await run('r1', { open: true, ago: 30 * DAY });
    const written = await write('perhaps of r1');
    expect(await collect()).toMatchObject({ held: 1, garbage: 0, heldBy: { runId: 'r1' } });
    expect(await collect({}, { execution: async () => ({ ...idle, activities: [{ type: 'call', attempt: 1, lastFailure: null }] }) })).toMatchObject({ held: 1, garbage: 0 });
    expect(await collect({}, { execution: async () => ({ ...idle, status: 'TERMINATED' }) })).toMatchObject({ held: 1, garbage: 0 });
    expect(await ids()).toContain(written.sha256);
    expect(await collect({}, { execution: async () => idle })).toMatchObject({ held: 0, garbage: 1, removed: 1 });
    expect(await ids()).not.toContain(written.sha256);
  });

  test('what a purged run alone had named goes, and what its fork or another run names stays', async () => {
    const [shared, own] = [await write('shared'), await write('own')];
    await run('r1', { output: { ref: own } });
    await run('r2', { output: { ref: shared } });
    await run('r3', { output: { ref: shared } });
    for (const runId of ['r1', 'r2']) await purgeRun(stores, client, runId);
    expect(await collect()).toMatchObject({ named: 2, garbage: 3, removed: 3 });
    expect([await stores.artifacts.has(shared.sha256), await stores.artifacts.has(own.sha256), existsSync(out)]).toEqual([true, false, true]);
  });
});
