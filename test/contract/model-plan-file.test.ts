// Promises of the reader of plan files: YAML and JSON give the same plan; what hides, multiplies or cannot be told is
// refused in one sentence with its place.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { MAX_PLAN_BYTES, parsePlanText, PlanFileError, readPlanFile } from '../../src/adapters/plans/plan-file';
import { parsePlan } from '../../src/core/rules/planning';

let folder: string;
beforeAll(() => { folder = mkdtempSync(path.join(os.tmpdir(), 'longhaul-plan-')); });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const YAML = `
goal: A report on refunds, published
steps:
  - { id: collect, title: List the sources, action: { type: tool, tool: inventory, args: {} } }
  - { id: ask, title: Which quarter, action: { type: question, question: "Which quarter?", deadline: 24h, onDeadline: { then: cancel-run } } }
  - id: publish
    title: Publish the report
    dependsOn: [collect, ask]
    premises: [{ resource: "publisher:refunds", version: { $from: collect.version } }]
    action: { type: tool, tool: publish, args: { body: { $from: collect.report } } }
`;

const written = (name: string, text: string | Buffer): string => { const file = path.join(folder, name); writeFileSync(file, text); return file; };
const refusal = async (of: Promise<unknown>): Promise<string> => {
  const error = await of.then(() => null, (thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(PlanFileError);
  return (error as Error).message;
};

describe('a plan file', () => {
  test('in YAML and in JSON gives the same plan, which the law can read', async () => {
    const yaml = await readPlanFile(written('a.yml', YAML));
    const json = await readPlanFile(written('a.json', JSON.stringify(yaml, null, 2)));
    expect(json).toEqual(yaml);
    const read = parsePlan(yaml, [{ name: 'inventory' }, { name: 'publish' }]);
    expect('patch' in read && read.patch.add.map((step) => [step.id, step.dependsOn, step.uses])).toEqual([['collect', [], []], ['ask', [], []], ['publish', ['collect', 'ask'], ['collect']]]);
  });

  test.each<[string, string, RegExp]>([
    ['a member named twice', 'goal: a\nsteps: []\ngoal: b\n', /line 3, column 1: a member is named twice/],
    ['a member named twice in JSON', '{"goal": 1,\n"goal": 2}', /line 2, column 1: a member is named twice/],
    ['aliases that multiply', `a: &a [${'x,'.repeat(9)}x]\nb: &b [${'*a,'.repeat(9)}*a]\nc: &c [${'*b,'.repeat(9)}*b]\nd: [${'*c,'.repeat(9)}*c]\n`, /aliases stand for too many values/],
    ['an alias of itself', 'a: &a [*a]\n', /nested deeper than 100 levels/],
    ['a tag', 'a: !!js/function "x"\n', /line 1, column 4: tags/],
    ['bytes', 'a: !!binary aGVsbG8=\n', /value at a that JSON cannot carry/],
    ['no number', 'a: .nan\n', /value at a that JSON cannot carry/],
    ['a number that would be rounded', 'a: 12345678901234567890\n', /value at a that JSON cannot carry/],
    ['two documents', 'a: 1\n---\nb: 2\n', /several documents/],
    ['nothing in it', '# a comment\n', /is empty/],
    ['broken YAML', 'goal: x\nsteps: [1, 2\n', /line \d+, column \d+: /],
    ['a tab', 'a:\n\t- b\n', /line 2, column 1: Tabs/],
    ['brackets without end', '['.repeat(10_000), /nested deeper/],
    ['indentation without end', Array.from({ length: 400 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'), /nested deeper/],
    ['nesting through aliases without end', `a0: &a0 [x]\n${Array.from({ length: 150 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}]\n`).join('')}`, /nested deeper|stand for too many values/],
    ['nesting within one line of a block', `goal: x\nsteps: ${'[{a: '.repeat(1_000)}1${'}]'.repeat(1_000)}\n`, /nested deeper/],
  ])('with %s is refused in one sentence with its place', async (_what, text, words) => {
    const message = await refusal(readPlanFile(written('b.yml', text)));
    expect(message).toMatch(words);
    expect(message).toContain('b.yml');
    expect(message).not.toContain('\n');
  });

  test('that is not there, not a file, too large or not text is refused by name', async () => {
    expect(await refusal(readPlanFile(path.join(folder, 'gone.yml')))).toContain('no such file');
    expect(await refusal(readPlanFile(folder))).toContain('is not a file');
    expect(await refusal(readPlanFile(written('large.yml', 'x'.repeat(MAX_PLAN_BYTES + 1))))).toContain('at most');
    expect(await refusal(readPlanFile(written('bytes.yml', Buffer.from([0xff, 0xfe, 0x41]))))).toContain('not text in UTF-8');
  });

  test('that is a pipe without a writer is refused at once, never waited for', async () => {
    const pipe = path.join(folder, 'pipe');
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
    expect(await refusal(readPlanFile(pipe))).toContain('is not a file');
  });

  test('of any text gives JSON or a PlanFileError, nothing else', () => {
    const part = fc.constantFrom('goal: ', 'steps:', '- ', '  ', '\n', '{', '}', '[', ']', ': ', '&a ', '*a', '!!x ', '"', "'", '|', '>', '#', 'id', '1', '? ', '<<', '__proto__', ',', '---\n', '%');
    fc.assert(fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
      try {
        JSON.stringify(parsePlanText(parts.join(''), 'p.yml'));
      } catch (error) {
        expect(error).toBeInstanceOf(PlanFileError);
      }
    }), { numRuns: 600 });
  });
});
