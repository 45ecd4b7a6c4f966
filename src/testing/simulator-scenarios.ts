// Scenarios made by chance: an agent with tools of every effect class, a declared plan or a planner's proposals, a policy,
// a budget. The same random source makes the same scenario. `exampleManifest` is also the builder for specs.
import type { PolicyVerdict } from '../core/events';
import type { OnDeadline, PlanPatch, StepOutline } from '../core/plan';
import type { Actor, AgentManifest, Budget, ToolManifest } from '../core/run';
import type { Random } from './random';
import type { SimulatedScenario } from './simulator-types';

/** A tool manifest with the given name; everything that is left out is the careful default. */
export function toolManifest(name: string, more: Partial<ToolManifest> = {}): ToolManifest {
  return {
    name, version: '1.0.0', effect: 'irreversible', hasLookUp: false, honoursKey: false, hasUndo: false, hasResourceVersion: false,
    localPrepare: true, maxAttempts: 3, timeoutMs: 30_000, sendWindowMs: 15_000, backoffMs: 1_000, ...more,
  };
}

/** One tool of every kind that the recovery gate tells apart. */
export const EVERY_KIND: readonly ToolManifest[] = [
  toolManifest('read', { effect: 'none' }),
  toolManifest('stage', { effect: 'reversible', hasLookUp: true, hasUndo: true }),
  toolManifest('reserve', { effect: 'reversible', honoursKey: true, hasUndo: true }),
  toolManifest('post', { effect: 'manual', hasLookUp: true, hasResourceVersion: true }),
  toolManifest('pay', { honoursKey: true, hasResourceVersion: true }),
  toolManifest('ship', { honoursKey: true, hasLookUp: true }),
  toolManifest('mail', {}),
];

export function agentManifest(more: Partial<AgentManifest> = {}): AgentManifest {
  return {
    name: 'clerk', version: '1.0.0', planner: 'declared', model: 'rules@1', tools: [...EVERY_KIND], budget: {},
    maxParallel: 4, maxRejectedPlans: 3, maxOutputTokens: 1_000, maxInputTokens: 4_000, ...more,
  };
}

/** A step of a plan that calls a tool. */
export function toolStep(id: string, tool: string, more: Partial<StepOutline> = {}): StepOutline {
  return { id, title: `${tool} for ${id}`, dependsOn: [], uses: [], action: { type: 'tool', tool, args: { of: id } }, ...more };
}

const DEADLINES: OnDeadline[] = [
  { then: 'cancel-run' }, { then: 'fail-step', remindEveryMs: 7_000 }, { then: 'ask-again' }, { then: 'escalate', escalateTo: ['boss'] }, { then: 'continue', default: 'no' },
];

/** A scenario made by chance. */
export function randomScenario(random: Random): SimulatedScenario {
  const planned = random.chance(0.3);
  const steps = Array.from({ length: random.int(2, 9) }, (_, i) => i);
  const declared: PlanPatch = { goal: 'a made-up goal', add: [], drop: [] };
  for (const i of steps) declared.add.push(randomStep(random, `s${i}`, declared.add));
  const owner: Actor = { id: 'olga', via: 'cli', assurance: 'local-user' };
  return {
    name: planned ? 'planned by model' : 'declared', owner, people: ['ann', 'bob', 'boss', 'olga'], oneHost: random.chance(0.5),
    agent: agentManifest({ planner: planned ? 'model' : 'declared', maxParallel: random.int(1, 5) }),
    plan: planned ? null : declared, proposals: planned ? split(declared, random) : [],
    policy: Object.fromEntries(EVERY_KIND.filter((tool) => tool.effect !== 'none').map((tool) => [tool.name, randomVerdict(random, tool)])),
    budget: randomBudget(random),
  };
}

/** The steps of a plan as several proposals, in an order in which each refers to earlier ones only. */
function split(plan: PlanPatch, random: Random): PlanPatch[] {
  const out: PlanPatch[] = [];
  let left = plan.add;
  while (left.length > 0) {
    const n = random.int(1, Math.min(3, left.length));
    out.push({ add: left.slice(0, n).map((step) => ({ ...step, dependsOn: step.dependsOn.filter((id) => left.slice(0, n).some((other) => other.id === id)), uses: [] })), drop: [] });
    left = left.slice(n);
  }
  return out;
}

function randomStep(random: Random, id: string, before: readonly StepOutline[]): StepOutline {
  const dependsOn = before.filter(() => random.chance(0.2)).map((step) => step.id);
  const base = { id, title: `step ${id}`, dependsOn, uses: [], ...(random.chance(0.2) ? { optional: true } : {}) };
  const kind = random.next();
  if (kind < 0.08) return { ...base, action: { type: 'wait', forMs: random.int(1_000, 90_000) } };
  if (kind < 0.18) return { ...base, action: { type: 'question', question: 'Go on?', ...(random.chance(0.6) ? { deadlineMs: random.int(5_000, 120_000), onDeadline: random.pick(DEADLINES) } : {}) } };
  if (kind < 0.25) return { ...base, action: { type: 'model', prompt: 'write.md' } };
  const tool = random.pick(EVERY_KIND);
  const source = dependsOn.length > 0 && random.chance(0.3) ? random.pick(dependsOn) : null;
  return {
    ...base, uses: source ? [source] : [], action: { type: 'tool', tool: tool.name, args: source ? { of: id, from: { $from: source } } : { of: id } },
    ...(random.chance(0.15) ? { premises: [{ resource: `thing:${id}`, version: 'v1' }] } : {}),
  };
}

function randomVerdict(random: Random, tool: ToolManifest): PolicyVerdict {
  const rule = `${tool.effect}-rule`;
  if (random.chance(0.02)) return { decision: 'deny', rule, why: 'not here' };
  if (random.chance(tool.effect === 'reversible' ? 0.8 : 0.4)) return { decision: 'allow', rule, why: 'free' };
  return {
    decision: 'ask', rule, why: 'a person decides',
    approval: { quorum: random.chance(0.25) ? 2 : 1, approvers: random.chance(0.3) ? ['ann', 'bob', 'olga'] : [], ownerMay: random.chance(0.5), rule, ...(random.chance(0.2) ? { mayGrant: random.chance(0.7) } : {}) },
    ...(random.chance(0.6) ? { expiresInMs: random.int(10_000, 300_000), onDeadline: random.pick(DEADLINES) } : {}),
  };
}

function randomBudget(random: Random): Budget {
  return {
    ...(random.chance(0.3) ? { calls: random.int(1, 12) } : {}), ...(random.chance(0.2) ? { tokens: random.int(4_000, 40_000) } : {}),
    ...(random.chance(0.2) ? { failures: random.int(0, 4) } : {}), ...(random.chance(0.1) ? { wallMs: random.int(20_000, 400_000) } : {}),
  };
}
