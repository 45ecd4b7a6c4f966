// The HTTP face of the effect server: things that change, keys that can be looked up, and trouble on demand.
//   POST /things/NAME  an effect; Idempotency-Key and If-Match as in RFC 9110 and its idempotency draft
//   GET /things/NAME   200 with ETag      GET /keys/KEY   200, 404, or 501 where the thing has no look-up
//   PUT /things/NAME/troubles, PUT /things/NAME/rules    what the next requests meet, how the thing behaves
// Decides nothing about retries; an effect is one line of the log, written before any answer.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { canonical, digestOf, type Json } from '../core/canonical';
import { EffectLog, type LoggedEffect, type ThingRules, type Trouble } from './effect-log';

interface Answer { status: number; body: Json; headers?: Record<string, string>; outcome: string; cut?: 'hang' | 'drop'; waitMs?: number }

const MOST_BYTES = 4 * 1024 * 1024;
const DEFAULT_RULES: ThingRules = { honoursKeys: true, lookUp: true };

export class EffectService {
  private readonly effects: LoggedEffect[] = [];
  private readonly rules = new Map<string, ThingRules>();
  private readonly troubles = new Map<string, Trouble[]>();
  private readonly inFlight = new Set<string>();

  constructor(private readonly log: EffectLog) {
    for (const line of log.before) {
      if (line.kind === 'effect') this.effects.push(line);
      else if (line.kind === 'told') this.told(line.thing, line);
      else if (line.outcome.startsWith('trouble ')) this.troubles.get(thingOf(line.path))?.shift();
    }
  }

  private told(thing: string, what: { rules: Partial<ThingRules> } | { troubles: Trouble[] }): void {
    if ('rules' in what) this.rules.set(thing, { ...this.rulesOf(thing), ...what.rules });
    else this.troubles.set(thing, [...(this.troubles.get(thing) ?? []), ...what.troubles]);
  }

  private rulesOf(thing: string): ThingRules {
    return this.rules.get(thing) ?? DEFAULT_RULES;
  }

  private revision(thing: string): number {
    return this.effects.filter((effect) => effect.thing === thing).length;
  }

  /** Answers one request; never rejects. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const method = request.method ?? 'GET';
    const key = (request.headers['idempotency-key'] as string | undefined) ?? null;
    const answer = await this.handle(request, method, path, key).catch((error: unknown): Answer => ({ status: 500, body: { error: String(error) }, outcome: 'defect' }));
    // The trouble was noted before it was met, so that a kill in the middle does not bring it back.
    if (!answer.outcome.startsWith('trouble ')) this.note(method, path, key, answer);
    await pause(answer.waitMs ?? 0);
    if (answer.cut === 'drop') response.destroy();
    if (answer.cut) return;
    response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers });
    response.end(`${JSON.stringify(answer.body)}\n`);
  }

  private note(method: string, path: string, key: string | null, { status, outcome }: Pick<Answer, 'status' | 'outcome'>): void {
    this.log.write({ kind: 'request', at: Date.now(), method, path, key, status, outcome });
  }

  private async handle(request: IncomingMessage, method: string, path: string, key: string | null): Promise<Answer> {
    const [, room, name = '', rest] = path.split('/').map(decodeURIComponent);
    if (room === 'health') return { status: 200, body: { status: 'ok' }, outcome: 'ok' };
    if (room === 'keys' && method === 'GET') return this.lookUp(name);
    if (room !== 'things' || name === '') return refused(404, 'There are /things/NAME, /keys/KEY and /health.');
    if (method === 'PUT' && (rest === 'troubles' || rest === 'rules')) return this.tell(name, rest, await bodyOf(request));
    if (method === 'GET') return { status: 200, body: { thing: name, revision: this.revision(name) }, headers: { ETag: etagOf(this.revision(name)) }, outcome: 'read' };
    if (method !== 'POST') return refused(405, 'Use GET, or POST for an effect.');
    return this.effect(request, path, name, key);
  }

  private tell(thing: string, what: 'troubles' | 'rules', body: Json): Answer {
    const told = what === 'rules' ? { rules: body as Partial<ThingRules> } : { troubles: body as unknown as Trouble[] };
    this.told(thing, told);
    this.log.write({ kind: 'told', at: Date.now(), thing, ...told });
    return { status: 200, body: { ok: true }, outcome: 'told' };
  }

  private lookUp(key: string): Answer {
    const done = this.effects.find((effect) => effect.key === key);
    if (done && !this.rulesOf(done.thing).lookUp) return refused(501, 'This thing cannot be asked by key.');
    if (done) return { status: 200, body: publicPart(done), headers: { ETag: etagOf(done.revision) }, outcome: 'found' };
    if (this.inFlight.has(key)) return { status: 409, body: { key, state: 'in-flight' }, headers: { 'Retry-After': '1' }, outcome: 'in flight' };
    return { status: 404, body: { key, state: 'absent' }, outcome: 'absent' };
  }

  private async effect(request: IncomingMessage, path: string, thing: string, key: string | null): Promise<Answer> {
    const body = await bodyOf(request);
    const rules = this.rulesOf(thing);
    if (rules.honoursKeys && key !== null && this.inFlight.has(key)) return { ...refused(409, 'A request with this key is being handled.'), headers: { 'Retry-After': '1' } };
    const trouble = this.troubles.get(thing)?.shift();
    if (trouble) this.note('POST', path, key, { status: 'status' in trouble ? trouble.status : 0, outcome: `trouble ${trouble.kind}` });
    const answer = (given: Answer): Answer => (trouble ? { ...given, outcome: `trouble ${trouble.kind}` } : given);
    if (trouble?.kind === 'fail') {
      const later = trouble.retryAfterS === undefined ? {} : { headers: { 'Retry-After': String(trouble.retryAfterS) } };
      return answer({ ...refused(trouble.status, 'It was told to fail before the effect.'), ...later });
    }
    if (trouble?.kind === 'refuse') return answer(refused(422, trouble.why ?? 'It was told to refuse.'));
    if (key !== null) this.inFlight.add(key);
    try {
      if (trouble?.kind === 'slow') await pause(trouble.beforeMs ?? 0);
      return answer(after(this.settle(thing, key, body, request.headers['if-match']), trouble));
    } finally {
      if (key !== null) this.inFlight.delete(key);
    }
  }

  /** Compares and has the effect without a pause in between, so that no other request comes between. */
  private settle(thing: string, key: string | null, body: Json, ifMatch: string | undefined): Answer {
    const done = this.rulesOf(thing).honoursKeys && key !== null ? this.effects.find((effect) => effect.key === key) : undefined;
    if (done && (done.thing !== thing || digestOf(done.body) !== digestOf(body))) return refused(422, 'This key was used for another request.');
    if (done) return { status: 200, body: publicPart(done), headers: { ETag: etagOf(done.revision), 'Idempotent-Replay': 'true' }, outcome: 'replayed' };
    const revision = this.revision(thing);
    if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== etagOf(revision)) return { ...refused(412, 'The thing has changed.'), headers: { ETag: etagOf(revision) } };
    const effect: LoggedEffect = { kind: 'effect', at: Date.now(), thing, key, body: JSON.parse(canonical(body)) as Json, revision: revision + 1 };
    this.log.write(effect);
    this.effects.push(effect);
    return { status: 201, body: publicPart(effect), headers: { ETag: etagOf(effect.revision) }, outcome: 'done' };
  }
}

/** The answer after the effect, as the trouble bends it. */
function after(answer: Answer, trouble: Trouble | undefined): Answer {
  switch (trouble?.kind) {
    case 'hang':
    case 'drop': return { ...answer, cut: trouble.kind };
    case 'fail-after': return { ...answer, ...refused(trouble.status, 'It was told to fail after the effect.') };
    case 'slow': return { ...answer, waitMs: trouble.afterMs ?? 0 };
    default: return answer;
  }
}

const etagOf = (revision: number): string => `"r${revision}"`;
const thingOf = (path: string): string => decodeURIComponent(path.split('/')[2] ?? '');
const publicPart = ({ thing, key, revision, at }: LoggedEffect): Json => ({ thing, key, revision, at });
const refused = (status: number, error: string): Answer => ({ status, body: { error }, outcome: 'refused' });
const pause = (ms: number): Promise<void> => (ms > 0 ? new Promise((resolve) => { setTimeout(resolve, ms); }) : Promise.resolve());

async function bodyOf(request: IncomingMessage): Promise<Json> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += (part as Buffer).length;
    if (bytes > MOST_BYTES) throw new Error(`A body is at most ${MOST_BYTES} bytes.`);
    parts.push(part as Buffer);
  }
  const text = Buffer.concat(parts).toString('utf8');
  return text === '' ? null : JSON.parse(text) as Json;
}
