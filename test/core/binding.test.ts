// Promises of rules/binding: what `$from` becomes, what is refused, and that no JSON value makes it throw.
import fc from 'fast-check';
import type { Json } from '../../src/core/canonical';
import type { ArtifactRef } from '../../src/core/run';
import { bind, faultsIn, holdsReserved, refsIn, usesOf } from '../../src/core/rules/binding';

const ref: ArtifactRef = { sha256: 'a'.repeat(64), bytes: 9_000, mediaType: 'application/json', summary: 'rows' };

describe('rules/binding', () => {
  test('finds each reference with its step and path, in reading order', () => {
    const args: Json = { a: { $from: 'collect.files.0' }, b: [{ $from: 'collect' }, { c: { $from: 'ask.answer' } }], d: { $secret: 'TOKEN' } };
    expect(refsIn(args)).toEqual([
      { stepId: 'collect', path: ['files', '0'] }, { stepId: 'collect', path: [] }, { stepId: 'ask', path: ['answer'] },
    ]);
    expect(usesOf(args)).toEqual(['collect', 'ask']);
  });

  test('binds small values by path through members and list positions, and leaves secrets as names', () => {
    const bound = bind(
      { title: { $from: 'ask' }, first: { $from: 'collect.files.1.name' }, key: { $secret: 'TOKEN' }, n: 3 },
      { ask: { value: 'Q3' }, collect: { value: { files: [{ name: 'a' }, { name: 'b' }] } } },
    );
    expect(bound).toEqual({ ok: { title: 'Q3', first: 'b', key: { $secret: 'TOKEN' }, n: 3 } });
  });

  test('binds a value that was too large to stand inline, and a part of it, as a pointer for the activity', () => {
    expect(bind({ whole: { $from: 'read' }, part: { $from: 'read.rows.0' } }, { read: { ref } }))
      .toEqual({ ok: { whole: { $artifact: ref, path: [] }, part: { $artifact: ref, path: ['rows', '0'] } } });
  });

  test('binds a file by its reference, and so an artifact that a value names', () => {
    const file = { ...ref, mediaType: 'application/pdf' };
    expect(bind({ given: { $from: 'ask' }, made: { $from: 'write.report' } }, { ask: { ref: file }, write: { value: { report: ref as unknown as Json } } })).toEqual({ ok: { given: file, made: ref } });
  });

  test('names a reference that leads nowhere', () => {
    expect(bind({ x: { $from: 'gone.a' } }, {})).toEqual({ fault: expect.stringContaining('step gone has no output') });
    expect(bind({ x: { $from: 'a.b' } }, { a: { value: { c: 1 } } })).toEqual({ fault: expect.stringContaining('"a.b" leads to nothing') });
    expect(bind({ x: { $from: 'toString' } }, {})).toHaveProperty('fault');
    expect(bind({ x: { $from: 'a.constructor' } }, { a: { value: {} } })).toHaveProperty('fault');
  });

  test('refuses prototype keys, malformed references and pointers that only the runtime writes', () => {
    expect(faultsIn(JSON.parse('{"a":{"__proto__":{"x":1}}}') as Json)).toHaveLength(1);
    for (const args of <Json[]>[{ $from: 'a', also: 1 }, { $from: 7 }, { $from: '' }, { $from: 'a..b' }, { $from: 'a.__proto__' }, { $secret: '' }, { $artifact: ref as unknown as Json, path: [] }]) {
      expect(bind({ x: args }, { a: { value: 1 } })).toHaveProperty('fault');
    }
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  test('a tool output cannot smuggle a secret, a reference or a pointer into later arguments', () => {
    for (const smuggled of <Json[]>[{ $secret: 'OPENAI_API_KEY' }, { deep: [{ $artifact: ref as unknown as Json, path: [] }] }, { $from: 'other' }]) {
      expect(bind({ body: { $from: 'fetch.body' } }, { fetch: { value: { body: smuggled } } })).toEqual({ fault: expect.stringContaining('reserved member') });
    }
  });

  test('no JSON value makes it throw, however deep or odd', () => {
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 6 }) as fc.Arbitrary<Json>,
      fc.letrec<{ json: Json }>((tie) => ({
        json: fc.oneof({ depthSize: 'small' }, fc.constant(1), fc.string(),
          fc.dictionary(fc.constantFrom('$from', '$secret', '$artifact', '__proto__', 'a', 'path', 'constructor'), tie('json')),
          fc.array(tie('json'))) as fc.Arbitrary<Json>,
      })).json,
    );
    fc.assert(fc.property(odd, odd, (args, value) => {
      const result = bind(args, { a: { value }, s1: { ref } });
      expect('ok' in result || typeof result.fault === 'string').toBe(true);
      refsIn(args); faultsIn(args); holdsReserved(value);
      if ('ok' in result) expect(refsIn(result.ok)).toEqual([]);
    }), { numRuns: 400 });
  });

  test('nesting beyond the limit is a fault, not an overflow', () => {
    let deep: Json = 1;
    for (let i = 0; i < 50_000; i += 1) deep = [deep];
    expect(bind(deep, {})).toEqual({ fault: expect.stringContaining('nested deeper') });
    expect(holdsReserved(deep)).toBe(true);
  });
});
