// A local model over real HTTP: answers chat-completions (and Anthropic messages) requests from a script, or by asking a
// language model in this process, and keeps a log of what it was asked. For tests and for trying an agent without a key.
// Listens on 127.0.0.1 only. Plans nothing and knows nothing of runs.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import type { Json } from '../core/canonical';
import { anthropicMessage, chatCompletion, errorBody, type Reply } from './chat-formats';
import { replyFrom, type ChatRequest } from './chat-model';

export type { Reply } from './chat-formats';

/** One request as it came in. Header names are lower case. */
export interface LoggedRequest { at: number; path: string; headers: Record<string, string>; body: Json }

export interface ChatServerOptions {
  /** Replies in order, one a request. */
  script?: Reply[];
  /** Answers once the script is over: a model in this process (e.g. `rules@1`), or a function of the request. */
  answers?: LanguageModelV3 | ((request: ChatRequest) => Reply | Promise<Reply>);
  /** Keys that are let in; left out, any request is. */
  keys?: string[];
  /** Default 0: a free port. */
  port?: number;
}

export interface ChatServer {
  /** Base URL for `openai-compatible:<url>#<model>`; ends in `/v1`. */
  url: string;
  requests: LoggedRequest[];
  /** Puts more replies at the end of the script. */
  push(...replies: Reply[]): void;
  close(): Promise<void>;
}

/** Starts the server. */
export async function startChatServer(options: ChatServerOptions = {}): Promise<ChatServer> {
  const script = [...(options.script ?? [])];
  const requests: LoggedRequest[] = [];
  const server = createServer((request, response) => {
    answer(request, response, options, script, requests).catch((error: unknown) => {
      if (!response.headersSent) json(response, 500, errorBody(500, 'server_error', error instanceof Error ? error.message : String(error)));
      else response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    push: (...replies) => void script.push(...replies),
    close: () => new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    }),
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, options: ChatServerOptions, script: Reply[], requests: LoggedRequest[]): Promise<void> {
  const body = await bodyOf(request);
  const path = request.url ?? '/';
  requests.push({ at: Date.now(), path, headers: flat(request), body });
  if (request.method !== 'POST' || !/\/(chat\/completions|messages)$/.test(path)) return json(response, 404, errorBody(404, 'not_found', `There is nothing at ${path}.`));
  const key = request.headers.authorization?.replace(/^Bearer /, '') ?? String(request.headers['x-api-key'] ?? '');
  if (options.keys && !options.keys.includes(key)) return json(response, 401, errorBody(401, 'invalid_api_key', `Incorrect API key provided: ${key}.`));
  const chat = body as unknown as ChatRequest;
  const reply = script.shift() ?? (await improvised(options.answers, chat));
  if (reply.delayMs !== undefined) await pause(reply.delayMs, undefined, { ref: false });
  send(response, reply, path.endsWith('/messages') ? anthropicMessage : chatCompletion, chat.model, requests.length);
}

async function improvised(answers: ChatServerOptions['answers'], request: ChatRequest): Promise<Reply> {
  if (answers === undefined) return { status: 400, code: 'script_over', message: 'The script has no reply left.' };
  return typeof answers === 'function' ? answers(request) : replyFrom(answers, request);
}

function send(response: ServerResponse, reply: Reply, format: typeof chatCompletion, model: string, n: number): void {
  if ('drop' in reply) {
    if (reply.drop === 'within') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"id":"chatcmpl-', () => response.destroy());
    } else response.destroy();
  } else if ('body' in reply) {
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json' }).end(reply.body);
  } else if ('status' in reply) {
    json(response, reply.status, errorBody(reply.status, reply.code ?? 'error', reply.message ?? 'scripted'), reply.headers);
  } else json(response, 200, format(reply, model, n));
}

function json(response: ServerResponse, status: number, body: Json, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json;
  } catch {
    return null;
  }
}

const flat = (request: IncomingMessage): Record<string, string> => Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
