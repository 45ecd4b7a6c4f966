// Whether a call of a tool or of a model provider may go out now from this worker: a cap on calls at once, and a circuit breaker
// that opens after failures of the transport in a row or when the outside asks for a pause, and lets one call through to try.
// Asked before the claim. Whoever is turned away is told when to come back, holds nothing meanwhile, and has made no attempt;
// return times are spread, so that many who wait do not fill the queue. Forgets everything with its process.
import type { ErrorClass, Failure } from '../core/failure';
import type { CallResult } from '../core/world';

/** What a call came to, as far as the health of its dependency goes; null says nothing about it. */
export type News = 'answered' | Pick<Failure, 'class' | 'retryAfterMs'> | null;

export interface Let { kind: 'let'; /** Once, at the end of the call. */ leave(news: News): void }
export interface Turned { kind: 'busy'; why: string; retryAfterMs: number }

/** Failures in a row that open the breaker. */
const FAILURES = 5;
/** ms that it stays open at first; doubled each time that the call which is let through fails, up to the longest. */
const OPEN_MS = 5_000;
const LONGEST_OPEN_MS = 60_000;
/** No outside closes a tool to everybody for longer by its word alone; the call that it was said to waits as long as it was told. */
const LONGEST_PAUSE_MS = 600_000;
/** ms after which a call comes back that met a full dependency, or one that is being tried. */
const COME_BACK_MS = 1_000;
/** ms between the return times of two that were turned away: no less, no more. */
const APART_MS = [20, 1_000] as const;

const DOWN: ReadonlySet<ErrorClass> = new Set(['rate-limited', 'network', 'timeout-before-send', 'server']);
/** The outside has answered, if only to say no. */
const ANSWERED: ReadonlySet<ErrorClass> = new Set(['argument', 'permission', 'business-refusal', 'not-found', 'policy', 'model-output']);

interface Door {
  inFlight: Map<number, number>;
  failures: number;
  /** 0: closed, everybody may pass. Later than now: open, nobody may. Otherwise one is let through to try. */
  openUntil: number;
  openMs: number;
  /** Number of the call that tries. */
  trying: number | null;
  nextReturn: number;
  usualMs: number;
}

export class Admission {
  private readonly doors = new Map<string, Door>();
  private calls = 0;

  constructor(private readonly log: (message: string, about: Record<string, unknown>) => void = () => undefined, private readonly now: () => number = Date.now) {}

  /** Lets a call of `name` in, or says when it may come back. `most`: calls at once. */
  enter(name: string, most: number): Let | Turned {
    const door = this.door(name);
    const now = this.now();
    if (door.openUntil > now) return this.away(door, door.openUntil - now, most, `${name} failed ${door.failures} times in a row or asked for a pause; it is tried again later.`);
    if (door.openUntil > 0 && door.trying !== null) return this.away(door, COME_BACK_MS, most, `${name} failed before and is being tried again.`);
    if (door.inFlight.size >= most) return this.away(door, COME_BACK_MS, most, `${door.inFlight.size} calls of ${name} run in this worker already.`);
    const id = ++this.calls;
    door.inFlight.set(id, now);
    if (door.openUntil > 0) door.trying = id;
    return { kind: 'let', leave: (news) => this.left(name, door, id, news) };
  }

  private door(name: string): Door {
    const known = this.doors.get(name);
    if (known) return known;
    const fresh: Door = { inFlight: new Map(), failures: 0, openUntil: 0, openMs: OPEN_MS, trying: null, nextReturn: 0, usualMs: COME_BACK_MS };
    this.doors.set(name, fresh);
    return fresh;
  }

  /** Return times stand as far apart as calls usually leave, so that those who wait are neither idle nor in each other's way. */
  private away(door: Door, waitMs: number, most: number, why: string): Turned {
    const now = this.now();
    const oldest = Math.min(now, ...door.inFlight.values());
    const apart = door.openUntil > 0 ? OPEN_MS / 20 : Math.max(door.usualMs, now - oldest) / most;
    const at = Math.max(now + waitMs, door.nextReturn);
    door.nextReturn = Math.min(at, now + waitMs + LONGEST_OPEN_MS) + Math.min(APART_MS[1], Math.max(APART_MS[0], Math.round(apart)));
    return { kind: 'busy', why, retryAfterMs: Math.min(at, now + waitMs + LONGEST_OPEN_MS) - now };
  }

  private left(name: string, door: Door, id: number, news: News): void {
    const began = door.inFlight.get(id);
    if (began === undefined) return;
    door.inFlight.delete(id);
    const now = this.now();
    door.usualMs = Math.round(door.usualMs * 0.8 + (now - began) * 0.2);
    const tried = door.trying === id;
    if (tried) door.trying = null;
    if (news === 'answered') this.answered(name, door, tried);
    else if (news !== null && DOWN.has(news.class)) this.failed(name, door, tried, news, now);
    else if (news !== null && ANSWERED.has(news.class)) this.answered(name, door, tried);
  }

  /** While it is open only the call that tries counts: an answer to an older one is old news. */
  private answered(name: string, door: Door, tried: boolean): void {
    if (door.openUntil > 0 && !tried) return;
    door.failures = 0;
    if (door.openUntil === 0) return;
    Object.assign(door, { openUntil: 0, openMs: OPEN_MS, nextReturn: 0 });
    this.log('a dependency answers again', { dependency: name });
  }

  private failed(name: string, door: Door, tried: boolean, { class: cls, retryAfterMs }: Exclude<News, 'answered' | null>, now: number): void {
    door.failures += 1;
    const asked = cls === 'rate-limited' && retryAfterMs !== undefined ? Math.min(LONGEST_PAUSE_MS, retryAfterMs) : 0;
    const opens = tried || (door.openUntil === 0 && door.failures >= FAILURES);
    if (!opens && asked === 0) return;
    const until = Math.max(now + asked, opens ? now + door.openMs : 0, door.openUntil);
    if (opens) door.openMs = Math.min(LONGEST_OPEN_MS, door.openMs * 2);
    if (until > door.openUntil) this.log('a dependency is given a pause', { dependency: name, failures: door.failures, class: cls, ms: until - now });
    door.openUntil = until;
  }
}

/** What the end of a tool call says about its tool. */
export function newsOf(result: CallResult): News {
  switch (result.kind) {
    case 'succeeded': return result.via === 'sent' ? 'answered' : null;
    case 'failed': return result.failure;
    case 'unknown': return result.cause ?? null;
    default: return null;
  }
}
