// The outside of a simulation: services that have effects, look-ups and versions. It is the judge: what happened is what
// stands in `effects`, whatever ledger and journal say. Knows keys only as far as a service honours or remembers them.
import type { Json } from '../core/canonical';
import type { Output, ToolManifest } from '../core/run';

/** One effect that took place. */
export interface OutsideEffect {
  key: string;
  tool: string;
  argsDigest: string;
  at: number;
  output: Output;
  /** Key of the effect that this one takes back. */
  undoes?: string;
}

export interface Request { key: string; tool: ToolManifest; argsDigest: string; undoes?: string }

export class EffectWorld {
  readonly effects: OutsideEffect[] = [];
  private readonly coming = new Set<string>();
  private readonly versions = new Map<string, number>();

  constructor(private readonly now: () => number, private readonly outputs: Readonly<Record<string, Json>>, private readonly heard: (effect: OutsideEffect) => void) {}

  /** Has the effect and answers its result; a service that honours keys has one effect a key and answers the first result again. */
  apply({ key, tool, argsDigest, undoes }: Request): Output {
    const before = tool.honoursKey ? this.of(key)[0] : undefined;
    if (before) return before.output;
    const value = this.answerOf(tool.name);
    const effect: OutsideEffect = { key, tool: tool.name, argsDigest, at: this.now(), output: { value }, ...(undoes === undefined ? {} : { undoes }) };
    this.effects.push(effect);
    this.change(`tool:${tool.name}`);
    this.heard(effect);
    return effect.output;
  }

  /** What a service answers: its own id for the effect, beside what the scenario says. */
  private answerOf(tool: string): Json {
    const said = this.outputs[tool];
    const id = `${tool}-${this.effects.length + 1}`;
    if (said === undefined) return { id };
    return typeof said === 'object' && said !== null && !Array.isArray(said) ? { id, ...said } : said;
  }

  /** A request has left and arrives later; until then no look-up sees it. */
  onTheWay(key: string): void {
    this.coming.add(key);
  }

  /** Has a request with this key left, whether it has arrived or not? A service never refuses what it is about to do. */
  knows(key: string): boolean {
    return this.coming.has(key) || this.of(key).length > 0;
  }

  /** Every effect with this key. */
  of(key: string): OutsideEffect[] {
    return this.effects.filter((effect) => effect.key === key);
  }

  /** What a look-up by key says at this moment; a request still on its way is not seen. */
  lookUp(key: string): OutsideEffect | null {
    return this.of(key)[0] ?? null;
  }

  /** Version of a thing outside, as text. */
  version(resource: string): string {
    return `v${this.versions.get(resource) ?? 1}`;
  }

  /** Somebody else changes the thing. */
  change(resource: string): void {
    this.versions.set(resource, (this.versions.get(resource) ?? 1) + 1);
  }
}
