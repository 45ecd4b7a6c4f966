// `propose_plan`: the built-in tool by which a model lays out several steps that depend on each other. Its arguments become
// step outlines; ids of the proposal get a prefix of their own, so that an id names one step for the run's life.
// Reads form only; what may be in a plan is judged by core/rules/plan-checks.ts.
import type { Json } from '../core/canonical';
import { usesOf } from '../core/rules/binding';
import type { StepOutline } from '../core/plan';
import type { ModelToolSpec } from '../ports/model';
import { oneLine } from './failures';

/** Most steps of one proposal. */
const MAX_STEPS = 50;

type Members = { [key: string]: Json };

/** How the tool is shown to a model. */
export const PROPOSE_PLAN: ModelToolSpec = {
  name: 'propose_plan',
  description: [
    `Lays out up to ${MAX_STEPS} steps at once, each a call of one of the other tools or a question to a person.`,
    'Steps run as soon as those in dependsOn are done. In args, {"$from": "id.path.to.member"} stands for the output of another step',
    'of this proposal (by its id here) or of an earlier one (by its id as shown in results). The result of this call has the output of each step.',
    'Steps that have not been made yet can be taken back with "drop"; then "steps" may be empty.',
  ].join(' '),
  inputSchema: {
    type: 'object', additionalProperties: false, required: ['steps'],
    properties: {
      goal: { type: 'string', description: 'The goal in a sentence, when it has changed.' },
      steps: {
        type: 'array', maxItems: MAX_STEPS,
        items: {
          type: 'object', additionalProperties: false, required: ['id'],
          properties: {
            id: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$' },
            title: { type: 'string' },
            tool: { type: 'string', description: 'Name of the tool to call.' },
            args: { type: 'object', additionalProperties: true },
            question: { type: 'string', description: 'In place of a tool: what to ask a person. The output is the answer.' },
            dependsOn: { type: 'array', items: { type: 'string' } },
            optional: { type: 'boolean', description: 'True when the others may go on without it.' },
          },
        },
      },
      drop: { type: 'array', items: { type: 'string' }, description: 'Ids of earlier steps, as shown in results, that wait or have not begun and are not wanted any more.' },
    },
  },
};

/** What a proposal says. `args` are those given, with the ids as the run will have them. */
export type PlanRead = { error: string } | { steps: StepOutline[]; drop: string[]; goal?: string; args: Json };

/** Reads the arguments of `propose_plan`. */
export function stepsOfPlan(args: Json, prefix: string): PlanRead {
  const root = membersOf(args);
  const list = root?.['steps'];
  const { goal, drop = [] } = root ?? {};
  const least = Array.isArray(drop) && drop.length > 0 ? 0 : 1;
  if (!root || !Array.isArray(list) || list.length < least || list.length > MAX_STEPS) return { error: `propose_plan needs "steps": a list of 1 to ${MAX_STEPS} steps, empty only beside "drop".` };
  if (!isTexts(drop)) return { error: '"drop" must be a list of step ids.' };
  if (goal !== undefined && (typeof goal !== 'string' || goal.length > 2_000)) return { error: '"goal" must be a text of at most 2000 characters.' };
  const fault = list.map(faultOf).find((found) => found !== null);
  if (fault !== undefined && fault !== null) return { error: fault };

  const steps = list as Members[];
  const ids = new Map(steps.map((step) => [step['id'] as string, `${prefix}-${step['id'] as string}`]));
  if (ids.size < steps.length) return { error: 'Two steps have the same id; give each its own.' };
  const renamed = steps.map((step): Members => ({
    ...step, id: ids.get(step['id'] as string) ?? '',
    ...(isTexts(step['dependsOn']) ? { dependsOn: step['dependsOn'].map((id) => ids.get(id) ?? id) } : {}),
    ...(step['args'] === undefined ? {} : { args: rename(step['args'], ids) }),
  }));
  return { steps: renamed.map(outlineOf), drop, args: { ...root, steps: renamed }, ...(typeof goal === 'string' ? { goal } : {}) };
}

function faultOf(json: Json, index: number): string | null {
  const step = membersOf(json);
  const { id, tool, question } = step ?? {};
  if (!step || typeof id !== 'string' || !/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/.test(id)) return `Step ${index + 1} needs an "id" of 1 to 32 letters, digits, "_" or "-".`;
  if ((typeof tool === 'string') === (typeof question === 'string')) return `Step ${id} needs either "tool", a tool's name, or "question", a text.`;
  if (step['args'] !== undefined && (!membersOf(step['args']) || tool === undefined)) return `Step ${id} has "args" that are no arguments of a tool: an object.`;
  if (step['dependsOn'] !== undefined && !isTexts(step['dependsOn'])) return `Step ${id} has a "dependsOn" that is not a list of step ids.`;
  const unknown = Object.keys(step).find((key) => !['id', 'title', 'tool', 'args', 'question', 'dependsOn', 'optional'].includes(key));
  return unknown === undefined ? null : `Step ${id} has an unknown member "${unknown.slice(0, 60)}".`;
}

function outlineOf(step: Members): StepOutline {
  const { id, title, tool, question } = step as { id: string; title?: Json; tool?: string; question?: string };
  const args = step['args'] ?? {};
  const uses = tool === undefined ? [] : usesOf(args);
  const dependsOn = isTexts(step['dependsOn']) ? step['dependsOn'] : [];
  return {
    id, title: oneLine(typeof title === 'string' && title.trim() !== '' ? title : tool ?? 'question', 120),
    dependsOn: [...new Set([...dependsOn, ...uses])], uses,
    action: tool === undefined ? { type: 'question', question: question ?? '' } : { type: 'tool', tool, args },
    ...(step['optional'] === true ? { optional: true } : {}),
  };
}

/** References to steps of this proposal get the ids that the run knows them by. */
function rename(value: Json, ids: ReadonlyMap<string, string>): Json {
  if (Array.isArray(value)) return value.map((item) => rename(item, ids));
  const members = membersOf(value);
  if (!members) return value;
  return Object.fromEntries(Object.entries(members).map(([key, member]): [string, Json] => {
    if (key !== '$from' || typeof member !== 'string') return [key, rename(member, ids)];
    const [step = '', ...path] = member.split('.');
    return [key, [ids.get(step) ?? step, ...path].join('.')];
  }));
}

const membersOf = (value: Json | undefined): Members | null => (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null);
const isTexts = (value: Json | undefined): value is string[] => Array.isArray(value) && value.every((item) => typeof item === 'string');
