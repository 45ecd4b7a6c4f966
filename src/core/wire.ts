// A need on its way through Temporal's history, where every byte stays: what its activity reads, without members that hold
// their usual value. `toWire` (conductor) and `fromWire` (activities) are one pair; nobody else knows the short form.
// Changes by addition: histories of older builds hold needs, so a usual value is never altered, and the whole form is read too.
// What makes a call safe (effect, attempt, key of an effect, digests) has no usual value that could stand in for it.
import { canonical, type Json } from './canonical';
import type { CallArgs, CallNeed, GateNeed, ModelNeed, PrepareNeed } from './world';

/** A need that an activity answers with more than a word. */
export type WireNeed = ModelNeed | PrepareNeed | CallNeed | GateNeed;
type NeedOf<K extends WireNeed['kind']> = Extract<WireNeed, { kind: K }>;

/** What the law and the conductor keep to themselves. A call's number is in its id. */
const OWN = ['kind', 'id', 'begun', 'summary'] as const;
const LEFT = {
  model: [...OWN, 'callSeq', 'nextPlanVersion', 'firstContact'],
  prepare: [...OWN, 'local', 'n'],
  call: [...OWN, 'callSeq', 'stepId', 'ledgerIncarnation'],
  gate: [...OWN, 'effect', 'argsDigest'],
} as const satisfies { [K in WireNeed['kind']]: readonly (keyof NeedOf<K>)[] };

/** A need as its activity works with it. */
export type Bare<N extends WireNeed> = N extends WireNeed ? Omit<N, (typeof LEFT)[N['kind']][number]> : never;

/** One need of one run, whole. */
export interface Asked<N extends WireNeed> { runId: string; epoch: number; need: Bare<N> }

/** The same in history: any member that has a usual value may be missing. */
export interface Wire<N extends WireNeed> { runId: string; epoch: number; need: Short<Bare<N>> }
type Short<B> = { [M in keyof B]?: B[M] extends CallArgs | undefined ? Partial<CallArgs> : B[M] };

const USUAL: { readonly [K in WireNeed['kind']]: Partial<Bare<NeedOf<K>>> } = {
  model: { rejected: [] },
  prepare: { key: '' },
  call: { key: '', resourceVersion: null, premises: [], timeoutMs: 60_000, sendWindowMs: 60_000 },
  gate: { resourceVersion: null, premises: [], undo: false },
};
const USUAL_ARGS = { inputs: {} } satisfies Partial<CallArgs>;

/** The short form of a need. */
export function toWire<N extends WireNeed>({ runId, epoch }: { runId: string; epoch: number }, need: N): Wire<N> {
  const left: readonly string[] = LEFT[need.kind];
  const bare = Object.fromEntries(Object.entries(need).filter(([name]) => !left.includes(name)));
  const short = without(bare, USUAL[need.kind]);
  return { runId, epoch, need: (need.call ? { ...short, call: without(need.call, USUAL_ARGS) } : short) as Wire<N>['need'] };
}

/** The need that `toWire` was given. */
export function fromWire<K extends WireNeed['kind']>(kind: K, { runId, epoch, need }: Wire<NeedOf<K>>): Asked<NeedOf<K>> {
  const { call } = need as { call?: Partial<CallArgs> };
  const whole = { ...USUAL[kind], ...need, ...(call ? { call: { ...USUAL_ARGS, ...call } } : {}) };
  return { runId, epoch, need: whole as unknown as Bare<NeedOf<K>> };
}

function without(value: object, usual: object): object {
  const same = new Map(Object.entries(usual).map(([name, one]) => [name, canonical(one as Json)]));
  return Object.fromEntries(Object.entries(value).filter(([name, one]) => one !== undefined && same.get(name) !== canonical(one as Json)));
}
