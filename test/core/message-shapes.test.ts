// Promises of the guard at every door (messages.ts): what a run could not digest is refused as a value, whatever it is.
import { faultOfMessage } from '../../src/messages';

const message = (body: unknown): unknown => ({ messageId: 'm', actor: { id: 'ann', via: 'cli', assurance: 'claimed' }, body });
const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;
const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

test('I7 a number that JSON cannot carry is refused anywhere in a message, since nothing could compare it', () => {
  for (const bad of [Infinity, -Infinity, NaN, JSON.parse('1e999')]) {
    expect(faultOfMessage(message({ kind: 'answer', questionId: 'q', answer: { value: bad } }))).toBe('A message must be plain JSON.');
    expect(faultOfMessage(message({ kind: 'resume', more: [bad] }))).toBe('A message must be plain JSON.');
  }
});

test('I7 nesting beyond what the law follows is refused, however deep, and what is just within it is not', () => {
  const answer = (value: unknown): unknown => message({ kind: 'answer', questionId: 'q', answer: { value } });
  expect(faultOfMessage(answer(deep(60)))).toBeNull();
  for (const levels of [65, 2_600, 20_000]) expect(faultOfMessage(answer(deep(levels)))).toMatch(/nested at most 64 deep|plain JSON/);
});

test.each([['a cycle', cycle], ['a bigint', 1n], ['a function', () => 1], ['undefined', undefined]])('I7 %s is refused and throws nothing', (_name, value) => {
  expect(faultOfMessage(message({ kind: 'answer', questionId: 'q', answer: { value } }))).not.toBeNull();
});

test('I7 a list of one word is no word: what the law branches on is a text, and what names bytes is one too', () => {
  const sha256 = 'a'.repeat(64);
  const bent = [
    { kind: ['resume'] }, { kind: ['callback'], callbackId: 'cb', eventId: 'e', payload: { value: 1 } }, { kind: 'settle', as: ['partial'] },
    { kind: 'resolve', callId: 'c1', verdict: ['happened'], reference: 'r' }, { kind: 'answer', questionId: 'q', answer: { ref: { sha256: [sha256], bytes: 1 } } },
    { kind: 'answer', questionId: 'q', answer: { ref: { sha256, bytes: -1 } } },
  ];
  for (const body of bent) expect([body, faultOfMessage(message(body))]).toEqual([body, expect.any(String)]);
  expect(faultOfMessage({ messageId: 'm', actor: { id: 'ann', via: 'cli', assurance: ['token'] }, body: { kind: 'resume' } })).toMatch(/actor/);
  expect(faultOfMessage(message({ kind: 'answer', questionId: 'q', answer: { ref: { sha256, bytes: 0 } } }))).toBeNull();
});

test('R6.3 a name that people could not write again is refused, and one in any script is not', () => {
  const from = (id: string): string | null => faultOfMessage({ messageId: 'm', actor: { id, via: 'cli', assurance: 'claimed' }, body: { kind: 'resume' } });
  for (const id of ['ann ', ' ann', ' ', 'a\u200bnn', 'Ann\u0000', 'a\nb', 'Jose\u0301', '\ud83d', '\u202eann', 'ann\ufe0f', 'ann\u3164', 'a\u034fnn', 'ann\u2800']) expect([id, from(id)]).toEqual([id, expect.stringContaining('as people write it')]);
  for (const id of ['ann', 'Ann Lee', 'Jos\u00e9', '\u674e\u96f7', '\u0410\u043d\u043d\u0430', 'ann@example.org', 'S. O\u2019Neill']) expect([id, from(id)]).toEqual([id, null]);
});
