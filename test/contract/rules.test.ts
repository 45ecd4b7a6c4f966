// `rules@1`: what it reads out of text, how it decides from a conversation alone, and that it always ends.
import fc from 'fast-check';
import { modelById } from '../../src/adapters/models/from-env';
import { rulesModel } from '../../src/adapters/models/rules';
import { contradictionsIn } from '../../src/adapters/models/rules/contradictions';
import { figuresOf, samePeriod, sameValue } from '../../src/adapters/models/rules/figures';
import { queriesFor } from '../../src/adapters/models/rules/queries';
import { readQuestion } from '../../src/adapters/models/rules/question';
import { sentencesOf, type Chunk } from '../../src/adapters/models/rules/sentences';
import { stem } from '../../src/adapters/models/rules/words';
import type { Json } from '../../src/core/canonical';
import type { ModelMessage, ModelToolSpec } from '../../src/ports/model';

const chunk = (text: string, change: Partial<Chunk> = {}): Chunk => ({ file: 'a.md', first: 1, last: 99, text, type: 'text/markdown', eol: 'lf', cut: false, sha256: 'f'.repeat(64), ...change });
const said = (text: string, change: Partial<Chunk> = {}): string[] => sentencesOf(chunk(text, change)).map((sentence) => `${sentence.first}-${sentence.last} ${sentence.text}`);

describe('sentences', () => {
  test.each<[string, string, Partial<Chunk>, string[]]>([
    ['a paragraph over two lines', '# Head\n\nRefunds rose in July. They fell\nagain in autumn.\n', {}, ['3-3 Refunds rose in July.', '3-4 They fell again in autumn.']],
    ['items of a list, complete without a full stop when they are long', '- The first reason is the carrier of parcels\n- too short\n2. Second reason is the box.\n', {}, ['1-1 The first reason is the carrier of parcels', '3-3 Second reason is the box.']],
    ['titles and short forms that end no sentence', 'Mr. Reyl met Ms. Albrecht at 9 a.m. on Monday. It was e.g. about refunds.', {}, ['1-1 Mr. Reyl met Ms. Albrecht at 9 a.m. on Monday.', '1-1 It was e.g. about refunds.']],
    ['lines of a log, each whole', '2025-07-14  First machines handed over. Vans were kept.\n2025-07-15  Nothing else happened here.', { type: 'text/plain' }, ['1-1 2025-07-14 First machines handed over. Vans were kept.', '2-2 2025-07-15 Nothing else happened here.']],
    ['cells of a table, not the row', '| what | why it happens here |\n| --- | --- |\n| kill | The worker was stopped by its owner. |', {}, ['3-3 The worker was stopped by its owner.']],
    ['visible text of HTML', '<p>Refunds were <b>late</b> &amp; high.</p>\n<p>Second line of the page.</p>', { type: 'text/html' }, ['1-1 Refunds were late & high.', '2-2 Second line of the page.']],
    ['texts inside JSON', '{"note": "Refunds came to EUR 5 in July.", "n": 3}', { type: 'application/json' }, ['1-1 Refunds came to EUR 5 in July.']],
    ['comments of source code, not the code', 'const a = 1; // x\n// The cache is cleared every hour.\nreturn a === 1;', { type: 'text/x-source' }, ['2-2 The cache is cleared every hour.']],
    ['no sentence over CRLF lines, and no stray \\r', 'This line is whole here.\r\nThis one goes\r\non and ends here now.', { eol: 'crlf' }, ['1-1 This line is whole here.', '3-3 on and ends here now.']],
    ['nothing that was cut off', 'The first line is whole here.\nThe second line was cut in the.', { cut: true }, ['1-1 The first line is whole here.']],
    ['nothing with bytes that are not text', 'The caf\ufffd was open every day.\nThe bar was open on most days.', {}, ['2-2 The bar was open on most days.']],
    ['HTML on one line, and over several', '<html><head><title>Offer</title><style>p { a: b. }</style></head><body><p>We promise Zenith support.</p><ul><li>Two free visits in every year of it</li></ul></body></html>', { type: 'text/html' }, ['1-1 We promise Zenith support.', '1-1 Two free visits in every year of it']],
    ['a paragraph of HTML over two lines', '<p>We promise <b>Zenith</b>\nsupport until 2027. It is\nfree of charge.</p>', { type: 'text/html' }, ['1-2 We promise Zenith support until 2027.', '2-3 It is free of charge.']],
    ['HTML without a tag', 'We promise Zenith support until 2027.\n', { type: 'text/html' }, ['1-1 We promise Zenith support until 2027.']],
    ['a phrase in JSON with its neighbours, and with its key where they are many', '{\n "a": {"customer": "Zenith", "promise": "support until 2026"},\n "b": [1],\n "term": "thirty days from now"\n}', { type: 'application/json' }, ['2-2 customer: Zenith, promise: support until 2026', '4-4 term: thirty days from now']],
    ['numbers and names in JSON: nothing', '{"id": "a-b-c", "n": 3, "name": "Zenith Ltd", "at": "2025-01-01T00:00:00Z"}', { type: 'application/json' }, []],
    ['a line under its heading, without a blank line between', '# Code\nWe promised API v2 to Orion.\n', {}, ['2-2 We promised API v2 to Orion.']],
    ['a line under an underlined heading', 'Code of the house\n=====\nWe promised API v2 to Orion.\n', {}, ['3-3 We promised API v2 to Orion.']],
    ['one line alone, complete without a full stop', 'We promised Orion a new API by May', { type: 'text/plain', last: 1, lines: 1 }, ['1-1 We promised Orion a new API by May']],
    ['no line alone where the chunk ends before the file', 'We promised Orion a new API by', { type: 'text/plain', last: 1, lines: 2 }, []],
    ['nothing of a CSV', 'a,b\nThis is a sentence in a table.,2', { type: 'text/csv' }, []],
  ])('of %s', (_, text, change, expected) => {
    expect(said(text, change)).toEqual(expected);
  });

  test('every quote stands verbatim within its lines, whatever the text', () => {
    const word = fc.constantFrom('Refunds', 'rose', 'in', 'July.', 'EUR 5', '- ', '\n', '\n\n', '\r\n', '| a |', '# ', '<b>', 'x!', 'Mr.', '2025-07-14 ', '"', '\ufeff', 'é', '…', '\t');
    fc.assert(fc.property(fc.array(word, { maxLength: 60 }), fc.constantFrom('text/markdown', 'text/plain', 'text/html', 'application/json', 'text/x-source'), (words, type) => {
      const text = words.join(' ');
      for (const sentence of sentencesOf(chunk(text, { type, eol: text.includes('\r\n') ? 'crlf' : 'lf' }))) {
        expect(text.split('\n').slice(sentence.first - 1, sentence.last).join('\n')).toContain(sentence.quote);
        expect(sentence.quote.trim()).toBe(sentence.quote);
      }
    }), { numRuns: 500 });
  });
});

describe('figures', () => {
  const read = (text: string): [string, number, string][] => figuresOf(text).map(({ kind, value, periods }) => [kind, value, [...periods].join(' ')]);
  test.each<[string, [string, number, string][]]>([
    ['Refunds in Q3 2025 came to EUR 48,200, up from €31.5k in Q2 2025.', [['money:eur', 48_200, '2025-Q3'], ['money:eur', 31_500, '2025-Q2']]],
    ['The rate rose to 3.1 % in 2024, then 4 per cent.', [['percent', 3.1, '2024'], ['percent', 4, '2024']]],
    ['We paid 128 refunds in Q3, against 74 in Q2.', [['count:refund', 128, 'Q3'], ['count:refund', 74, 'Q2']]],
    ['It began on 14 July 2025, not July 1, 2025 or 2025-07-03.', [['date', 20_250_714, ''], ['date', 20_250_701, ''], ['date', 20_250_703, '']]],
    ['The order of $1.2 million left on 3rd May.', [['money:usd', 1_200_000, ''], ['date', 503, '']]],
    ['Support ends by 2027, from June 2025 on, within 30 calendar days or two and 2 weeks.', [['date', 20_270_000, ''], ['date', 20_250_600, ''], ['count:day', 30, ''], ['count:day', 14, '']]],
    ['Price: 5,200 a month in a 2-year term.', [['amount', 5_200, ''], ['count:month', 24, '']]],
    ['Line 2 and version 1.2.3 of carton 4B are no figures.', []],
    ['On 99 July nothing happened in room 2025-99-99.', []],
  ])('of %j', (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  test('values are the same within rounding, periods within what is said', () => {
    expect([sameValue('money:eur', 31_482, 31_500), sameValue('money:eur', 48_200, 51_300), sameValue('percent', 3.1, 4.2), sameValue('date', 714, 20_250_714), sameValue('date', 20_240_714, 20_250_714), sameValue('date', 20_270_000, 20_271_231), sameValue('date', 20_270_000, 20_261_231)]).toEqual([true, false, false, true, false, true, false]);
    expect([samePeriod(new Set(['2025-Q3']), new Set(['Q3'])), samePeriod(new Set(['2025-Q3']), new Set(['2025-Q2'])), samePeriod(new Set(), new Set(['Q3'])), samePeriod(new Set(), new Set())]).toEqual([true, false, false, true]);
  });
});

describe('contradictions', () => {
  const sentences = (texts: Record<string, string>) => Object.entries(texts).flatMap(([file, text]) => sentencesOf(chunk(text, { file })));
  const found = (texts: Record<string, string>): number[][] => contradictionsIn(sentences(texts), new Set()).map(({ claims }) => claims.map(({ figure }) => figure.value));

  test('figures said of the same thing for the same time in two files are held against each other', () => {
    expect(found({ a: 'Refunds in Q3 2025 came to EUR 48,200.', b: 'In Q3 2025 refunds were EUR 53,910 by our count.', c: 'Refunds in Q3 2025 came to EUR 51,300.' })).toEqual([[48_200, 53_910, 51_300]]);
    expect(found({ a: 'The refund rate rose to 3.1 % in Q3 2025.', b: 'The refund rate was 4.2 % in Q3 2025.' })).toEqual([[3.1, 4.2]]);
    expect(found({ a: 'Machines went with Nordlink since 1 July 2025.', b: 'Nordlink took the machines from 14 July 2025 on.' })).toEqual([[20_250_701, 20_250_714]]);
  });

  test('prices with and without a currency, lengths of time and years in which something ends are held against each other', () => {
    expect(found({ a: 'We promised Acme a monthly price of EUR 4,500.', b: 'Price: we promised Acme 5,200 a month.' })).toEqual([[4_500, 5_200]]);
    expect(found({ a: 'We promised Acme a price of EUR 4,500, and delivery within 30 days.', b: 'Mr Bell promised Acme delivery within 2 weeks.' })).toEqual([[30, 14]]);
    expect(found({ a: 'We promise Zenith support until 2027.', b: 'Zenith gets support until 2026.' })).toEqual([[20_270_000, 20_260_000]]);
    expect(found({ a: 'We promised Acme delivery within 30 days. Acme has promised payment within 14 days.', b: 'We promised Acme delivery within 14 days.' })).toEqual([[30, 14]]);
  });

  test('a begin is not held against an end, nor what is promised to one against what is promised to another', () => {
    expect(found({ a: 'We promise Zenith support from 2025.', b: 'We promise Zenith support until 2026.' })).toEqual([]);
    expect(found({ a: 'We promised Acme delivery within 30 days.', b: 'We promised Orion delivery within 14 days.' })).toEqual([]);
    expect(found({ a: 'We promised Acme delivery within 2 weeks.', b: 'We promised Acme delivery within 14 days.' })).toEqual([]);
  });

  test('other times, other things, rounding, the same file, or agreement elsewhere are none', () => {
    expect(found({ a: 'Refunds in Q3 2025 came to EUR 48,200.', b: 'Refunds in Q2 2025 came to EUR 31,500.' })).toEqual([]);
    expect(found({ a: 'We paid 128 refunds in Q3 2025.', b: 'Transit damage was behind 61 refunds in Q3 2025.' })).toEqual([]);
    expect(found({ a: 'Refunds in Q2 2025 came to EUR 31,500.', b: 'Refunds in Q2 2025 came to EUR 31,482.' })).toEqual([]);
    expect(found({ a: 'The rate was 3 % in 2024 for refunds. The rate was 4 % in 2024 for refunds.' })).toEqual([]);
    expect(found({ a: 'The carton line changed on 21 July 2025.', b: 'The carton line changed on 21 July 2025. The carton line changed on 15 September 2025.' })).toEqual([]);
  });
});

test('a question falls into parts, each with its words and the kind of answer that it wants', () => {
  expect(readQuestion('How large were refunds in Q3 and why did they rise?').parts).toEqual([
    { text: 'How large were refunds in Q3', words: ['refunds', 'q3'], kind: 'amount' }, { text: 'why did they rise', words: ['rise', 'refunds', 'q3'], kind: 'cause' },
  ]);
  expect(readQuestion('When was the carrier changed?').parts[0]).toMatchObject({ kind: 'time', words: ['carrier', 'changed'] });
  expect(readQuestion('???').searchText.length).toBeGreaterThan(0);
  expect(new Set(['promise', 'promised', 'promises', 'promising'].map(stem))).toEqual(new Set(['promis']));
  expect(['refunds', 'refunded', 'carries', 'boxes', 'rising', 'stopped', 'data', 'is', 'q3s'].map(stem)).toEqual(['refund', 'refund', 'carry', 'box', 'rising', 'stop', 'data', 'is', 'q3s']);
});

test('queries name only what the inventory lists, quoted, and only tables that the question speaks of', () => {
  const table = (name: string, columns: [string, string, number][]) => ({ name, file: `${name}.csv`, rows: 9, columns: columns.map(([column, type, distinct]) => ({ name: column, type, distinct })) });
  const tables = [
    table('staff', [['name', 'text', 40]]),
    table('refunds', [['paid on', 'date', 9], ['order_id', 'number', 9], ['am"ount', 'number', 9], ['first_reply_hours', 'number', 5], ['reason', 'text', 4], ['region', 'text', 3]]),
  ];
  const sqls = queriesFor(readQuestion('How large were refunds in Q3?'), tables);
  expect(sqls).toHaveLength(2);
  expect(sqls[0]).toContain('ROUND(SUM("am""ount"), 2) AS "sum am""ount", ROUND(AVG("first_reply_hours"), 2)');
  expect(sqls[1]).toContain('"reason"');
  expect(sqls.join()).not.toMatch(/order_id|staff/);
  expect(queriesFor(readQuestion('Who is late?'), tables)).toEqual([]);
  expect(queriesFor(readQuestion('Which staff is there?'), tables)).toEqual(['SELECT COUNT(*) AS "rows" FROM "staff"']);
});

describe('the planner', () => {
  const names = ['inventory', 'search_text', 'read_chunk', 'query_csv', 'git_log', 'write_report', 'publish', 'notify'];
  const specs = (offered: string[]): ModelToolSpec[] => offered.map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));
  const found = modelById('rules@1', {});
  const ask = (messages: ModelMessage[], offered = names) => {
    if (!('port' in found)) throw new Error(found.missing);
    return found.port.generate({ messages, tools: specs(offered), maxOutputTokens: 1_000, signal: new AbortController().signal });
  };
  const start: ModelMessage[] = [{ role: 'user', text: 'Goal: x\n\nInput (JSON):\n{"folder":"/f","question":"How large were refunds?","slug":"my-slug"}' }];
  /** Answers every call with what `result` says, until the planner ends. */
  const drive = async (result: (tool: string, nth: number) => Json, offered = names): Promise<{ tools: string[]; text: string }> => {
    const messages = [...start];
    const tools: string[] = [];
    for (let turn = 0; turn < 30; turn++) {
      const answer = await ask(messages, offered);
      if (answer.calls.length === 0) return { tools, text: answer.text };
      messages.push({ role: 'assistant', text: answer.text, calls: answer.calls.map(({ id, tool, args }) => ({ id, tool, args })) });
      for (const { id, tool } of answer.calls) {
        tools.push(tool);
        messages.push({ role: 'tool', id, tool, result: result(tool, tools.filter((one) => one === tool).length) });
      }
    }
    throw new Error('It did not end.');
  };
  const good: Record<string, Json> = {
    inventory: { files: [], tables: [] }, search_text: { hits: [{ file: 'a.md', first: 1, last: 1, snippet: 'Refunds were EUR 5.' }] }, git_log: { commits: [] },
    read_chunk: { file: 'a.md', first: 1, last: 1, text: 'Refunds were EUR 5 in July.', type: 'text/markdown', eol: 'lf', cut: false, lines: 1, sha256: 'a'.repeat(64) },
    write_report: { step: 's1', value: { report: { sha256: 'a'.repeat(64) }, evidence: {}, summary: 'Report T, version 1' } },
    publish: { etag: '"r1"', slug: 'my-slug', url: 'http://x/my-slug', summary: 'Published my-slug, revision 1' }, notify: { line: 'x' },
  };

  test('with a statement it writes, publishes, notifies and says that no model was used', async () => {
    const { tools, text } = await drive((tool) => good[tool] ?? null);
    expect(tools).toEqual(['inventory', 'git_log', 'search_text', 'search_text', 'read_chunk', 'write_report', 'publish', 'notify']);
    expect(text).toBe('Report T, version 1. Published my-slug, revision 1. People were notified. Made by rules@1: fixed rules, no model was used.');
  });

  test('with nothing found it writes that down, publishes nothing, notifies nobody and says so', async () => {
    const { tools, text } = await drive((tool) => (tool === 'search_text' ? { hits: [] } : good[tool] ?? null));
    expect(tools).toEqual(['inventory', 'git_log', 'search_text', 'write_report']);
    expect(text).toBe('Report T, version 1. It was not published and nobody was notified, because nothing that was read answers the question: there is no statement to publish. Made by rules@1: fixed rules, no model was used.');
  });

  test('places that were found and had no room to be read are named in the report', async () => {
    const hits = Array.from({ length: 13 }, (_, at) => ({ file: `f${at}.md`, first: 1, last: 1, snippet: 'Refunds were EUR 5.' }));
    const messages: ModelMessage[] = [...start];
    for (;;) {
      const { calls, text } = await ask(messages);
      const [call] = calls;
      if (call?.tool === 'write_report') {
        expect((call.args as { openQuestions: string[] }).openQuestions[0]).toBe('Places that the search found and that were not read: f11.md:1-9, f12.md:1-9');
        return;
      }
      expect(call).toBeDefined();
      messages.push({ role: 'assistant', text, calls: calls.map(({ id, tool, args }) => ({ id, tool, args })) });
      for (const { id, tool } of calls) messages.push({ role: 'tool', id, tool, result: tool === 'search_text' ? { hits } : good[tool] ?? null });
    }
  });

  test('the same messages give the same answer, and no tokens are counted', async () => {
    const one = await ask(start);
    expect(await ask(start)).toEqual(one);
    expect(one.usage).toEqual({ tokens: 0, microUsd: 0 });
  });

  test('a rejected publish ends with the reason, and nobody is notified', async () => {
    const { tools, text } = await drive((tool) => (tool === 'publish' ? { denied: true, reason: 'The figure is wrong.' } : good[tool] ?? null));
    expect(tools).not.toContain('notify');
    expect(text).toMatch(/It was not published: The figure is wrong\./);
  });

  test('a folder that cannot be read, a report that is refused for good, a notice that fails: each ends with the reason', async () => {
    expect((await drive((tool) => (tool === 'inventory' ? { error: 'not-found', message: 'The folder /f does not exist.' } : good[tool] ?? null))).text).toMatch(/could not be read \(The folder \/f does not exist\.\)/);
    const refused = await drive((tool) => (tool === 'write_report' ? { error: 'policy', message: 'Not here.' } : good[tool] ?? null));
    expect([refused.tools.filter((tool) => tool === 'write_report').length, refused.text]).toEqual([1, expect.stringMatching(/No report was written: Not here\./)]);
    expect((await drive((tool) => (tool === 'notify' ? { error: 'permission', message: 'No outbox.' } : good[tool] ?? null))).text).toMatch(/Published my-slug, revision 1\. Nobody was notified: No outbox\./);
  });

  test('it uses only the tools that it is offered', async () => {
    expect(await drive((tool) => good[tool] ?? null, [])).toMatchObject({ tools: [], text: expect.stringMatching(/no tool to write it with/) });
    expect((await drive((tool) => good[tool] ?? null, ['inventory', 'write_report'])).tools).toEqual(['inventory', 'write_report']);
  });

  test('it ends after at most twelve turns, whatever the tools answer', async () => {
    const odd = fc.oneof(fc.jsonValue(), fc.constantFrom<Json>(...Object.values(good)), fc.record({ error: fc.string(), message: fc.constantFrom('evidence', 'x (a.md:1-2): quote') }), fc.record({ artifact: fc.record({ sha256: fc.string(), summary: fc.string() }), text: fc.oneof(fc.json(), fc.string()) }), fc.record({ hits: fc.array(fc.anything()), files: fc.array(fc.anything()), rows: fc.array(fc.anything()), columns: fc.array(fc.anything()) }));
    await fc.assert(fc.asyncProperty(fc.array(odd, { minLength: 1, maxLength: 12 }), async (answers) => {
      let at = 0;
      const { tools } = await drive(() => JSON.parse(JSON.stringify(answers[at++ % answers.length] ?? null)) as Json);
      expect(tools.length).toBeLessThan(60);
    }), { numRuns: 60 });
  });

  test('streaming gives the same parts as one answer', async () => {
    const model = rulesModel();
    const options = { prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Why?' }] }], tools: [{ type: 'function' as const, name: 'inventory', inputSchema: {} }] };
    const parts: string[] = [];
    for await (const part of (await model.doStream(options)).stream) parts.push(part.type);
    expect(parts).toEqual(['stream-start', 'tool-call', 'finish']);
    expect([model.specificationVersion, model.provider, model.modelId]).toEqual(['v3', 'rules', 'rules@1']);
  });
});
