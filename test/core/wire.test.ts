// Promises of the short form in which needs stand in Temporal's history: nothing that an activity reads is lost, nothing
// that is usual is sent, and the whole form that older builds wrote means the same.
import { canonical, type Json } from '../../src/core/canonical';
import { callIdOf, callSeqOf } from '../../src/core/keys';
import { needsOf } from '../../src/core/needs';
import { fromWire, toWire, type Wire, type WireNeed } from '../../src/core/wire';
import type { CallNeed, GateNeed, ModelNeed, PrepareNeed } from '../../src/core/world';
import { walk } from './support/walk';

const RUN = { runId: 'run-1', epoch: 2 };
const through = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const isWired = (need: { kind: string }): need is WireNeed => ['model', 'prepare', 'call', 'gate'].includes(need.kind);

/** Members that no activity reads. */
const OWN: Record<WireNeed['kind'], string[]> = {
  model: ['kind', 'id', 'begun', 'summary', 'callSeq', 'nextPlanVersion', 'firstContact'],
  prepare: ['kind', 'id', 'begun', 'summary', 'local', 'n'],
  call: ['kind', 'id', 'begun', 'summary', 'callSeq', 'stepId', 'ledgerIncarnation'],
  gate: ['kind', 'id', 'begun', 'summary', 'effect', 'argsDigest'],
};
const read = (need: WireNeed): object => Object.fromEntries(Object.entries(need).filter(([name, value]) => !OWN[need.kind].includes(name) && value !== undefined));

function cross(need: WireNeed): object {
  switch (need.kind) {
    case 'model': return fromWire('model', through(toWire(RUN, need)));
    case 'prepare': return fromWire('prepare', through(toWire(RUN, need)));
    case 'call': return fromWire('call', through(toWire(RUN, need)));
    case 'gate': return fromWire('gate', through(toWire(RUN, need)));
  }
}

test('every need of two hundred random walks comes out of history as its activity must read it', () => {
  const seen = new Map<string, number>();
  for (let seed = 1; seed <= 200; seed += 1) {
    for (const state of walk(seed, 25).states) {
      for (const need of needsOf(state, 1_700_000_100_000)) {
        if (!isWired(need)) continue;
        seen.set(need.kind, (seen.get(need.kind) ?? 0) + 1);
        const bare = need.kind === 'call' || need.kind === 'gate' ? { resourceVersion: null, ...read(need) } : read(need);
        expect(canonical(cross(need) as Json)).toBe(canonical({ ...RUN, need: bare } as Json));
      }
    }
  }
  expect([...seen.keys()].sort()).toEqual(['call', 'gate', 'model', 'prepare']);
});

const reader: CallNeed = {
  kind: 'call', id: 'call:c7#1', begun: true, callId: 'c7', callSeq: 7, attempt: 1, stepId: 's', tool: 'read', version: '1.0.0', effect: 'none', key: '',
  call: { args: { n: 1 }, inputs: {} }, resourceVersion: null, premises: [], ledgerIncarnation: 'i', timeoutMs: 60_000, sendWindowMs: 60_000, summary: 'read: s',
};
const model: ModelNeed = {
  kind: 'model', id: 'model:c6#1', begun: true, callId: 'c6', callSeq: 6, attempt: 1, purpose: 'step', upTo: 12, rejected: [], stepId: 'm', prompt: 'say',
  call: { args: { n: 1 }, inputs: {} }, nextPlanVersion: 2, maxOutputTokens: 100, maxInputTokens: 200, firstContact: false, summary: 'model: m',
};
const prepare: PrepareNeed = {
  kind: 'prepare', id: 'prepare:s#1', begun: true, local: true, n: 1, stepId: 's', tool: 'write', version: '1.0.0', effect: 'manual', owner: 'ann', agent: 'a',
  callId: 's#1', key: '', call: { args: {}, inputs: {} }, summary: 'prepare write: s',
};
const gate: GateNeed = {
  kind: 'gate', id: 'gate:c7#1', begun: true, callId: 'c7', n: 1, tool: 'write', version: '1.0.0', effect: 'manual', key: 'k1:x', call: { args: {}, inputs: {} },
  argsDigest: 'd', ledgerIncarnation: 'i', resourceVersion: null, premises: [], undo: false, summary: 'look up write c7',
};

test('what is usual is not sent, and what makes a call safe always is', () => {
  expect(toWire(RUN, reader)).toEqual({ ...RUN, need: { callId: 'c7', attempt: 1, tool: 'read', version: '1.0.0', effect: 'none', call: { args: { n: 1 } } } });
  expect(toWire(RUN, { ...reader, effect: 'manual', key: 'k1:x', argsDigest: 'd', sendWindowMs: 1_000, resourceVersion: 'v1', takeOver: 0 }).need).toEqual({
    callId: 'c7', attempt: 1, tool: 'read', version: '1.0.0', effect: 'manual', key: 'k1:x', argsDigest: 'd', sendWindowMs: 1_000, resourceVersion: 'v1', takeOver: 0, call: { args: { n: 1 } },
  });
  expect(toWire(RUN, model).need).toEqual({ callId: 'c6', attempt: 1, purpose: 'step', upTo: 12, stepId: 'm', prompt: 'say', call: { args: { n: 1 } }, maxOutputTokens: 100, maxInputTokens: 200 });
  expect(Object.keys(toWire(RUN, prepare).need).sort()).toEqual(['agent', 'call', 'callId', 'effect', 'owner', 'stepId', 'tool', 'version']);
  expect(Object.keys(toWire(RUN, gate).need).sort()).toEqual(['call', 'callId', 'key', 'ledgerIncarnation', 'n', 'tool', 'version']);
});

test('R9.3 the whole form that older builds wrote into history is read the same', () => {
  const { kind: _kind, id: _id, begun: _begun, summary: _summary, ...rest } = reader;
  const old = { ...RUN, inputRef: { sha256: 'a' }, need: rest } as unknown as Wire<CallNeed>;
  expect(fromWire('call', old)).toMatchObject({ ...RUN, need: rest });
});

test('the number of a call is in its id', () => {
  for (const n of [1, 9, 10, 12_345]) expect(callSeqOf(callIdOf(n))).toBe(n);
});
