// Promises of reading a model's answer: whatever it wrote, there is a proposal that the law accepts or reasons that a model
// can act on, never an exception, and nothing of the runtime's own vocabulary comes in through it.
import fc from 'fast-check';
import { z } from 'zod';
import { bytesOf, canonical, type Json } from '../../src/core/canonical';
import { memberAt } from '../../src/core/rules/binding';
import { checkPatch, type PlanningState } from '../../src/core/rules/planning';
import type { ArtifactRef } from '../../src/core/run';
import { proposalOf, referred } from '../../src/activities/proposal';
import type { Transcript } from '../../src/activities/transcript';
import type { ModelAnswer } from '../../src/ports/model';
import type { ToolDefinition } from '../../src/ports/tool';

const ref: ArtifactRef = { sha256: 'c'.repeat(64), bytes: 1, mediaType: 'application/json', summary: 'answer' };
const search = { name: 'search', version: '1.0.0', description: 'd', sensitive: ['pin'], input: z.looseObject({ q: z.string().optional(), pin: z.string().refine((pin) => pin.length < 3, { error: (issue) => `not ${String(issue.input)}` }).optional() }), execute: () => Promise.resolve({}) } as unknown as ToolDefinition;
const tools = new Map([[search.name, search]]);
const transcript = { steps: new Map([['s1', { is: 'done', output: { value: 1 } }]]), turns: [], olderTurns: 0, notes: [], declared: [], goal: '' } as unknown as Transcript;
const state = { agent: { tools: [{ name: 'search' }], model: 'm' }, steps: [{ id: 's1', status: 'done', dependsOn: [], uses: [] }] } as unknown as PlanningState;
const answer = (calls: ModelAnswer['calls'], text = ''): ModelAnswer => ({ text, calls, finish: calls.length > 0 ? 'tool-calls' : 'stop', usage: { tokens: 1, microUsd: 0 } });
const propose = (...calls: ModelAnswer['calls']) => proposalOf({ answer: answer(calls), callSeq: 7, transcript, tools });

describe('a proposal', () => {
  test('names its steps after the number of the model call, so that no id comes twice', () => {
    expect(propose({ id: 'x', tool: 'search', args: {} }).patch?.add.map((step) => step.id)).toEqual(['s7']);
    expect(propose({ id: 'x', tool: 'search', args: {} }, { id: 'x', tool: 'search', args: {} }).patch?.add.map((step) => step.id)).toEqual(['s7-1', 's7-2']);
  });

  test('never shows the value of a sensitive member, not in a title and not in a reason', () => {
    expect(propose({ id: 'x', tool: 'search', args: { pin: '12', q: 'refunds' } }).patch?.add[0]?.title).toBe('search: refunds');
    expect(JSON.stringify(propose({ id: 'x', tool: 'search', args: { pin: '99887766' } }).rejected)).not.toContain('99887766');
  });

  test('may refer to an earlier step by the id that results show', () => {
    expect(propose({ id: 'x', tool: 'search', args: { q: { $from: 's1' } } }).patch?.add[0]).toMatchObject({ dependsOn: ['s1'], uses: ['s1'] });
  });

  test('with arguments nested without end is an error, not an overflow', () => {
    let deep: Json = {};
    for (let i = 0; i < 20_000; i += 1) deep = { a: deep };
    for (const tool of ['search', 'propose_plan']) {
      const { stored, patch, rejected } = propose({ id: 'x', tool, args: deep });
      expect(patch).toBeUndefined();
      expect(rejected.join()).toContain('nested deeper');
      expect(canonical(stored).length).toBeLessThan(1_000);
    }
  });

  test('of fifty large steps leaves an outline below 16 KiB, each part found again in the stored answer', () => {
    const steps = Array.from({ length: 50 }, (_, i) => ({ id: `p${i}`, tool: 'search', args: { q: `${i}`.repeat(200) } }));
    const { stored, patch, places } = propose({ id: 'x', tool: 'propose_plan', args: { steps } });
    const outline = referred(patch ?? { add: [], drop: [] }, ref, places);
    expect(bytesOf(patch)).toBeGreaterThan(16 * 1024);
    expect(outline.add.every((step) => 'argsRef' in step.action)).toBe(true);
    const last = outline.add[49]?.action;
    expect(memberAt(stored as unknown as Json, (last && 'at' in last ? last.at : undefined) ?? [])).toEqual({ q: '49'.repeat(200) });
  });

  test('of any answer is accepted by the law or has reasons, and never names a secret or a pointer', () => {
    const name = fc.constantFrom('search', 'search', 'propose_plan', 'propose_plan', 'get_dat', '');
    const key = fc.constantFrom('steps', 'id', 'tool', 'args', 'question', 'dependsOn', 'title', 'drop', 'goal', 'q', 'optional', '$from', '$secret', '$artifact', '__proto__');
    const json = fc.letrec<{ json: Json }>((tie) => ({
      json: fc.oneof({ depthSize: 'small' }, fc.constantFrom<Json>('a', 'b', 's1', 'a.q', 'search', 'propose_plan', 1, null, true), fc.dictionary(key, tie('json')), fc.array(tie('json'))) as fc.Arbitrary<Json>,
    })).json;
    const plan = fc.record({ steps: fc.uniqueArray(fc.record({ id: fc.constantFrom('a', 'b', 'c'), tool: fc.constantFrom('search', 'x'), args: fc.oneof(fc.constant({ q: 'x' }), fc.constant({ q: { $from: 'a.q' } }), fc.dictionary(key, json, { maxKeys: 2 })), dependsOn: fc.uniqueArray(fc.constantFrom('s1', 's1', 'a', 'z'), { maxLength: 1 }) }, { requiredKeys: ['id', 'tool'] }), { maxLength: 3, selector: (step) => step.id }) }) as fc.Arbitrary<Json>;
    const call = fc.record({ id: fc.string(), tool: name, args: fc.oneof(json, plan), error: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.string() }) });
    let accepted = 0;
    fc.assert(fc.property(fc.array(call, { maxLength: 18 }), fc.string(), fc.constantFrom<ModelAnswer['finish']>('stop', 'length', 'tool-calls', 'other'), (calls, text, finish) => {
      const { stored, patch, rejected, places } = proposalOf({ answer: { ...answer(calls, text), finish }, callSeq: 7, transcript, tools });
      canonical(stored);
      expect(stored.calls).toHaveLength(calls.length);
      expect(stored.calls.every((made) => made.error !== undefined || made.steps.length > 0 || made.tool === 'propose_plan')).toBe(true);
      if (!patch) return expect(rejected.length).toBeGreaterThan(0);
      accepted += patch.add.length > 0 ? 1 : 0;
      expect(checkPatch(state, referred(patch, ref, places)).filter((reason) => !/cannot be dropped/.test(reason))).toEqual([]);
      return expect(canonical(patch)).not.toMatch(/\$secret|\$artifact/);
    }), { numRuns: 300 });
    expect(accepted).toBeGreaterThan(20);
  });
});
