// The next step of `rules@1`, decided from the conversation alone: list, search, search again with the words of what was found,
// read and count all at once, write, publish and notify if there is anything to say, end. What a later step needs and the messages
// may no longer show (queries, places left out) is said in words, as a model would. Each step is taken once (reading and writing twice more where evidence was
// refused), whatever came back, so that every conversation ends. Pure: the same messages give the same step.
import { composeReport, nearWords } from './compose';
import { isData, type Call, type Conversation, type Data } from './conversation';
import { readQuestion, type Question } from './question';
import { queriesFor, tablesOf } from './queries';

export interface Step { text?: string; calls: { tool: string; args: Data }[] }

const MOST = { reads: 11, around: 8, lines: 40, writes: 3 } as const;
const NO_MODEL = 'Made by rules@1: fixed rules, no model was used.';
const PLANNED = 'Queries to ask: ';
const UNREAD = 'Found, and not read for want of places: ';

interface Scene extends Conversation { asked: Question; offered: ReadonlySet<string>; made: (tool: string) => Call[] }

/** @param offered names of the tools that may be called now. */
export function nextStep(conversation: Conversation, offered: ReadonlySet<string>): Step {
  const made = (tool: string): Call[] => conversation.calls.filter((call) => call.tool === tool);
  const scene: Scene = { ...conversation, asked: readQuestion(conversation.question), offered, made };
  return list(scene) ?? search(scene) ?? searchAgain(scene) ?? read(scene) ?? write(scene) ?? publish(scene) ?? notify(scene) ?? { text: ending(scene), calls: [] };
}

const call = (tool: string, args: Data): Step => ({ calls: [{ tool, args }] });
const fresh = ({ offered, made }: Scene, tool: string): boolean => offered.has(tool) && made(tool).length === 0;
const done = ({ summary }: Call): boolean => summary !== undefined;

function list(scene: Scene): Step | undefined {
  if (!fresh(scene, 'inventory')) return undefined;
  return { calls: [{ tool: 'inventory', args: {} }, ...(fresh(scene, 'git_log') ? [{ tool: 'git_log', args: { limit: 10 } }] : [])] };
}

function search(scene: Scene): Step | undefined {
  if (!fresh(scene, 'search_text') || scene.made('inventory').some(({ failure }) => failure !== undefined)) return undefined;
  const sqls = scene.offered.has('query_csv') ? queriesFor(scene.asked, tablesOf(scene.made('inventory').at(-1)?.result)) : [];
  return { ...(sqls.length > 0 ? { text: PLANNED + JSON.stringify(sqls) } : {}), ...call('search_text', { query: scene.asked.searchText, limit: 12 }) };
}

/** Causes often stand where the question's words do not: the words of the first hits widen the search. */
function searchAgain({ asked, made }: Scene): Step | undefined {
  const searches = made('search_text');
  const hits = hitsOf(searches[0]);
  if (searches.length !== 1 || hits.length === 0) return undefined;
  const near = nearWords(asked, hits.map(({ snippet }) => String(snippet)));
  return call('search_text', { query: [...asked.words, ...near].slice(0, 20).join(' ').slice(0, 400), limit: 20 });
}

/** All reads and queries of one report stand in one turn, whose results are shown whole. Again, with the same places, after a refusal. */
function read(scene: Scene): Step | undefined {
  const { calls, made } = scene;
  const writes = made('write_report');
  if (writes.length === 0 && (made('read_chunk').length > 0 || made('query_csv').length > 0)) return undefined;
  if (writes.length > 0) return refusedEvidence(writes) && calls.at(-1)?.tool === 'write_report' ? again(calls) : undefined;
  const spans = spansOf(hitsOf(made('search_text').at(-1)));
  const reads = scene.offered.has('read_chunk') ? spans.slice(0, MOST.reads).map((args) => ({ tool: 'read_chunk', args })) : [];
  const unread = reads.length === 0 ? [] : spans.slice(MOST.reads).map(({ file, first, last }) => `${file}:${first}-${last}`);
  const queries = scene.offered.has('query_csv') ? listSaid(scene.said, PLANNED).slice(0, 4).map((sql) => ({ tool: 'query_csv', args: { sql } })) : [];
  return reads.length + queries.length > 0 ? { ...(unread.length > 0 ? { text: UNREAD + JSON.stringify(unread) } : {}), calls: [...reads, ...queries] } : undefined;
}

/** Was the last report refused for its evidence, and may it be written again? Any other refusal stands. */
const refusedEvidence = (writes: Call[]): boolean => writes.length < MOST.writes && /evidence|quote|sha256/i.test(writes.at(-1)?.failure ?? '');

function again(calls: Call[]): Step | undefined {
  const before = calls.filter(({ tool }) => tool === 'read_chunk' || tool === 'query_csv').map(({ tool, args }) => ({ tool, args }));
  const once = before.filter((one, at) => before.findIndex((other) => JSON.stringify(other) === JSON.stringify(one)) === at);
  return once.length > 0 ? { calls: once } : undefined;
}

/** A list that was said in words at an earlier step. */
function listSaid(said: string[], head: string): string[] {
  const text = said.find((words) => words.startsWith(head));
  if (text === undefined) return [];
  try {
    const list = JSON.parse(text.slice(head.length)) as unknown;
    return Array.isArray(list) ? list.filter((item): item is string => typeof item === 'string') : [];
  } catch {
    return [];
  }
}

const hitsOf = (searched: Call | undefined): Data[] => (Array.isArray(searched?.result?.['hits']) ? searched.result['hits'] : []).filter(isData);

/** Lines to read around hits, the best first; hits near each other are read at once. Tables are asked, not read. */
function spansOf(hits: Data[]): { file: string; first: number; last: number }[] {
  const spans: { file: string; first: number; last: number }[] = [];
  for (const hit of hits) {
    const [file, from, to] = [String(hit['file']), Number(hit['first']), Number(hit['last'])];
    if (/\.(csv|tsv)$/i.test(file) || !Number.isInteger(from) || !Number.isInteger(to)) continue;
    const span = { file, first: Math.max(1, from - MOST.around), last: to + MOST.around };
    const near = spans.find((other) => other.file === file && other.first <= span.last + 1 && span.first <= other.last + 1 && Math.max(other.last, span.last) - Math.min(other.first, span.first) < MOST.lines);
    if (near) Object.assign(near, { first: Math.min(near.first, span.first), last: Math.max(near.last, span.last) });
    else spans.push(span);
  }
  return spans;
}

function write({ calls, asked, offered, made, said }: Scene): Step | undefined {
  const writes = made('write_report');
  if (made('inventory').some(({ failure }) => failure !== undefined)) return undefined;
  if (!offered.has('write_report') || (writes.length > 0 && !refusedEvidence(writes))) return undefined;
  const since = writes.length === 0 ? calls : calls.slice(calls.lastIndexOf(writes.at(-1) as Call) + 1);
  if (writes.length > 0 && since.length === 0) return undefined;
  const refused = writes.length < 2 ? [] : writes.flatMap(({ failure }) => /\(([^()]+):\d+-\d+\)/.exec(failure ?? '')?.[1] ?? []);
  return call('write_report', composeReport({ calls: since }, asked, new Set(refused), listSaid(said, UNREAD)));
}

/** Does the report hold no statement and no table? Then there is nothing for a person to decide on, and nothing to tell anybody. */
function saysNothing({ made }: Scene): boolean {
  const { sections, contradictions, tables } = made('write_report').at(-1)?.args ?? {};
  const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
  return listed(tables).length + listed(contradictions).length + listed(sections).filter(isData).flatMap(({ statements }) => listed(statements)).length === 0;
}

function publish(scene: Scene): Step | undefined {
  const report = scene.made('write_report').at(-1)?.result?.['report'];
  if (!fresh(scene, 'publish') || !isData(report) || saysNothing(scene)) return undefined;
  return call('publish', { slug: scene.slug ?? slugOf(scene.asked), report });
}

function notify(scene: Scene): Step | undefined {
  const published = scene.made('publish').at(-1);
  if (!fresh(scene, 'notify') || !published || !done(published)) return undefined;
  const link = published.result?.['url'];
  return call('notify', {
    subject: `Published: ${scene.asked.text}`.slice(0, 190),
    message: `${writtenLine(scene)} ${published.summary ?? ''}.`.slice(0, 1_900),
    ...(typeof link === 'string' ? { link: link.slice(0, 480) } : {}),
  });
}

const writtenLine = ({ made }: Scene): string => `${made('write_report').at(-1)?.summary || 'The report was written'}.`;

/** The last words: what was done, and why not more. */
function ending(scene: Scene): string {
  const { made } = scene;
  const [inventory, written, published, notice] = ['inventory', 'write_report', 'publish', 'notify'].map((tool) => made(tool).at(-1));
  if (inventory?.failure !== undefined) return `No report was written: the folder could not be read (${inventory.failure}). ${NO_MODEL}`;
  if (!written || !done(written)) return `No report was written: ${written?.failure ?? 'there is no tool to write it with'} ${NO_MODEL}`;
  if (!published && saysNothing(scene)) return `${writtenLine(scene)} It was not published and nobody was notified, because nothing that was read answers the question: there is no statement to publish. ${NO_MODEL}`;
  if (!published || !done(published)) return `${writtenLine(scene)} It was not published: ${published?.failure ?? 'there is no tool to publish it with'} ${NO_MODEL}`;
  const told = notice === undefined ? '' : done(notice) ? ' People were notified.' : ` Nobody was notified: ${notice.failure}`;
  return `${writtenLine(scene)} ${published.summary || 'It was published'}.${told} ${NO_MODEL}`;
}

/** `How large were refunds in Q3?` -> `refunds-q3`. */
function slugOf({ words }: Question): string {
  const slug = words.map((word) => word.normalize('NFKD').replace(/[^a-z0-9]/g, '')).filter((word) => word !== '').slice(0, 5).join('-').slice(0, 60);
  return slug.replace(/^-+|-+$/g, '') || 'report';
}
