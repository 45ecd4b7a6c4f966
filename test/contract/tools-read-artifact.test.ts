// Promises of the built-in tool `read_artifact`: ranges that join to the whole, no cut character, answers of bounded size, and
// refusals in one sentence, each with its class. And of the configuration: who has the tool.
import { faultOfConfig } from '../../src/adapters/config/check';
import { resolveAgents, toolsByName } from '../../src/adapters/config/resolve';
import { defineTool } from '../../src/adapters/tools/define-tool';
import { readArtifact } from '../../src/adapters/tools/read-artifact';
import { defineAgent, type AgentConfig } from '../../src/config';
import { bytesOf, sha256Hex } from '../../src/core/canonical';
import { ArtifactError } from '../../src/ports/artifacts';
import { z } from 'zod';
import { toolCall } from '../rig/tool-call';

const artifacts = new Map<string, Uint8Array>();
const call = toolCall({ input: null, artifacts });
const kept = (content: string | Uint8Array, name = typeof content === 'string' ? sha256Hex(content) : 'b'.repeat(64)): string => {
  artifacts.set(name, typeof content === 'string' ? Buffer.from(content) : content);
  return name;
};
const read = (args: { sha256: string; from?: number; bytes?: number }) => readArtifact.execute(args, call);

/** All ranges from the first byte to the end. */
async function whole(sha256: string, bytes?: number): Promise<{ text: string; ranges: number }> {
  let text = '';
  for (let from = 0, ranges = 1; ; ranges += 1) {
    const range = await read({ sha256, from, ...(bytes === undefined ? {} : { bytes }) });
    expect(bytesOf(range)).toBeLessThanOrEqual(12 * 1024);
    expect([range.from, range.to > from || range.total === 0]).toEqual([from, true]);
    text += range.text;
    if (!range.more) return { text, ranges };
    from = range.to;
  }
}

describe('ranges', () => {
  const texts = { plain: 'A line of text.\n'.repeat(2_000), wide: 'Grüße, 世界 🌍! '.repeat(1_500), quotes: '"\\\u0001'.repeat(9_000), mark: '\uFEFFwith a byte order mark', empty: '' };

  test.each(Object.entries(texts))('of a %s text join to the whole, whatever their size, each within 12 KiB', async (_name, text) => {
    const sha256 = kept(text);
    for (const bytes of [undefined, 12 * 1024, 1_000, 333]) expect((await whole(sha256, bytes)).text).toBe(text);
  });

  test('of one byte still answer whole characters, one at a time', async () => {
    expect(await whole(kept('aß世🌍z'), 1)).toEqual({ text: 'aß世🌍z', ranges: 5 });
  });

  test('that begin within a character begin at the next, and say so', async () => {
    expect(await read({ sha256: kept('🌍 turns'), from: 2, bytes: 3 })).toMatchObject({ from: 4, to: 7, text: ' tu', total: 10, more: true });
  });

  test('that begin at the end are empty, and behind it refused with the size', async () => {
    const sha256 = kept('four');
    expect(await read({ sha256, from: 4 })).toMatchObject({ text: '', to: 4, more: false });
    await expect(read({ sha256, from: 5 })).rejects.toMatchObject({ failureClass: 'argument', message: expect.stringContaining('has 4 bytes') });
  });

  test.each([['no UTF-8', [0x66, 0xff, 0xfe]], ['zero bytes', [0x66, 0, 0x66]]])('of %s are none: only the size is told', async (_name, bytes) => {
    expect(await read({ sha256: kept(Uint8Array.from(bytes)) })).toMatchObject({ kind: 'binary', text: '', total: 3, more: false, summary: expect.stringContaining('not text') });
  });
});

describe('refusals', () => {
  test('an artifact that the run does not vouch for is not found, and its bytes are not even read', async () => {
    const known = toolCall({ input: null, artifacts }, { artifacts: { ...call.artifacts, known: async () => false, read: () => { throw new Error('read'); } } });
    await expect(readArtifact.execute({ sha256: kept('of another run') }, known)).rejects.toMatchObject({ failureClass: 'not-found', message: expect.stringMatching(/^No result of this run[^.]*\.$/) });
  });

  test.each(['missing', 'corrupt'] as const)('a %s artifact is a failure of class artifact that names it', async (code) => {
    const sha256 = kept('lost');
    const broken = toolCall({ input: null, artifacts }, { artifacts: { ...call.artifacts, read: () => Promise.reject(new ArtifactError(code, sha256)) } });
    await expect(readArtifact.execute({ sha256 }, broken)).rejects.toMatchObject({ failureClass: 'artifact', code, message: expect.stringContaining(sha256) });
  });

  test.each([[{ sha256: 'abc' }, /64 hex digits/], [{ sha256: 'a'.repeat(64), from: -1 }, /from/], [{ sha256: 'a'.repeat(64), bytes: 100_000 }, /bytes/], [{ sha256: 'a'.repeat(64), start: 4 }, /start/]])('arguments %j do not fit', (args, words) => {
    expect(() => readArtifact.input.parse(args)).toThrow(words);
  });
});

describe('who has it', () => {
  const tool = defineTool({ name: 'look', version: '1.0.0', description: 'looks', effect: 'none', input: z.strictObject({}), execute: async () => null });
  const toolsOf = (more: Partial<AgentConfig>): string[] => {
    const agents = resolveAgents({ agents: [defineAgent({ name: 'a', version: '1.0.0', planner: 'declared', ...more })], tools: [tool] }, null);
    return agents.get('a')?.manifest.tools.map(({ name }) => name) ?? [];
  };

  test('a planning model always, other agents when they name it or name no tools', () => {
    expect(toolsOf({ planner: 'model' })).toEqual(['look', 'read_artifact']);
    expect(toolsOf({ planner: 'model', tools: ['look'] })).toEqual(['look', 'read_artifact']);
    expect(toolsOf({})).toEqual(['look', 'read_artifact']);
    expect(toolsOf({ tools: ['read_artifact'] })).toEqual(['read_artifact']);
    expect(toolsOf({ tools: ['look'] })).toEqual(['look']);
  });

  test('the worker has it under its name, an agent may name it, and no other tool may have the name', () => {
    const agents = [defineAgent({ name: 'a', version: '1.0.0', planner: 'declared', tools: ['read_artifact'] })];
    expect(toolsByName({ agents, tools: [tool] }).get('read_artifact')).toBe(readArtifact);
    expect(faultOfConfig({ agents, tools: [tool] })).toBeNull();
    expect(faultOfConfig({ agents, tools: [{ ...tool, name: 'read_artifact' }] })).toMatch(/built in/);
  });
});
