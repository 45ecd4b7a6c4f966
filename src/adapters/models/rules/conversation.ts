// What has happened so far, read from the messages alone: the question, the calls that were made and what came back.
// A result counts as a success only if it has the shape of one; anything else is a failure with the words it carries. Pure.
import type { LanguageModelV3Prompt, LanguageModelV3ToolResultOutput } from '@ai-sdk/provider';

export type Data = Record<string, unknown>;

/**
 * One call of the conversation. It is open, or failed with a sentence, or succeeded: then `summary` is one line about it, and
 * `result` stands there only while the messages show it (results of older turns may be named by reference alone).
 */
export interface Call { tool: string; id: string; args: Data; result?: Data; summary?: string; failure?: string }

export interface Conversation {
  question: string;
  slug?: string;
  calls: Call[];
  /** What was said before in words, the newest last. */
  said: string[];
}

/** Members by which a success of each tool is known. */
const SHAPES: Record<string, (result: Data) => boolean> = {
  inventory: ({ files }) => Array.isArray(files),
  search_text: ({ hits }) => Array.isArray(hits),
  read_chunk: ({ text, sha256 }) => typeof text === 'string' && typeof sha256 === 'string',
  query_csv: ({ columns, rows }) => Array.isArray(columns) && Array.isArray(rows),
  git_log: ({ commits }) => Array.isArray(commits),
  write_report: ({ report, evidence }) => isData(report) && isData(evidence),
  publish: ({ etag, slug }) => typeof etag === 'string' && typeof slug === 'string',
  notify: ({ line }) => typeof line === 'string',
};

export const isData = (value: unknown): value is Data => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads a prompt of the AI SDK. */
export function readConversation(prompt: LanguageModelV3Prompt): Conversation {
  const calls: Call[] = [];
  const texts: string[] = [];
  const said: string[] = [];
  for (const message of prompt) {
    if (message.role === 'user') texts.push(message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n'));
    if (message.role === 'assistant') {
      for (const part of message.content) {
        if (part.type === 'tool-call') calls.push({ tool: part.toolName, id: part.toolCallId, args: argsOf(part.input) });
        if (part.type === 'text') said.push(part.text);
      }
    }
    if (message.role !== 'tool') continue;
    for (const part of message.content) {
      if (part.type !== 'tool-result') continue;
      const call = [...calls].reverse().find(({ id, summary, failure }) => id === part.toolCallId && summary === undefined && failure === undefined);
      if (call) Object.assign(call, outcomeOf(call.tool, part.output));
    }
  }
  return { ...inputOf(texts), calls, said };
}

function argsOf(input: unknown): Data {
  if (typeof input !== 'string') return isData(input) ? input : {};
  const parsed = parsedJson(input);
  return isData(parsed) ? parsed : {};
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The question (and slug, if one is named) of the first message that has one: a JSON object with `question`, or the text itself. */
function inputOf(texts: string[]): Pick<Conversation, 'question' | 'slug'> {
  for (const text of texts) {
    for (const input of objectsIn(text)) {
      if (typeof input['question'] !== 'string' || input['question'].trim() === '') continue;
      const slug = input['slug'];
      return { question: input['question'].trim(), ...(typeof slug === 'string' && slug !== '' ? { slug } : {}) };
    }
    const line = /^\s*question:\s*(.+)$/im.exec(text)?.[1];
    if (line) return { question: line.trim() };
  }
  return { question: (texts.find((text) => text.trim() !== '') ?? 'What is in this folder?').trim().slice(0, 500) };
}

/** JSON objects in a text: the whole of it, or those that begin at a brace. */
function objectsIn(text: string): Data[] {
  const found: Data[] = [];
  for (let at = text.indexOf('{'), tries = 0; at >= 0 && tries < 20; at = text.indexOf('{', at + 1), tries++) {
    for (let end = text.lastIndexOf('}'), ends = 0; end > at && ends < 20; end = text.lastIndexOf('}', end - 1), ends++) {
      const value = parsedJson(text.slice(at, end + 1));
      if (!isData(value)) continue;
      found.push(value, ...Object.values(value).filter(isData));
      break;
    }
  }
  return found;
}

function outcomeOf(tool: string, output: LanguageModelV3ToolResultOutput): Pick<Call, 'result' | 'summary' | 'failure'> {
  if (output.type === 'execution-denied') return { failure: output.reason ?? 'it was not allowed' };
  const raw = output.type === 'content' ? output.value.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n') : output.value;
  const value = typeof raw === 'string' ? (parsedJson(raw) ?? raw) : raw;
  if (output.type.startsWith('error')) return { failure: wordsIn(value) };
  const result = candidatesIn(value).find((candidate) => SHAPES[tool]?.(candidate));
  const artifact = isData(value) && isData(value['artifact']) ? value['artifact'] : undefined;
  if (!result && !artifact) return { failure: wordsIn(value) };
  const summary = artifact?.['summary'] ?? result?.['summary'];
  return { summary: typeof summary === 'string' ? summary : '', ...(result ? { result } : {}) };
}

/** Where a result may stand: as it is, as `value`, or as the text of a stored artifact. */
function candidatesIn(value: unknown): Data[] {
  if (!isData(value)) return [];
  const text = typeof value['text'] === 'string' ? parsedJson(value['text']) : undefined;
  return [value['value'], text, value].filter(isData);
}

/** The sentence of a failure, wherever its shape keeps it. */
function wordsIn(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value.slice(0, 500);
  if (!isData(value) || depth > 3) return 'no reason was given';
  for (const name of ['message', 'reason', 'error', 'failure', 'why', 'text']) {
    if (typeof value[name] === 'string' && value[name] !== '') return (value[name] as string).slice(0, 500);
    if (isData(value[name])) return wordsIn(value[name], depth + 1);
  }
  return JSON.stringify(value).slice(0, 300);
}
