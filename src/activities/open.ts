// Opens a run at the start of every generation: fresh, restored, superseded or refused (I5). For a fresh run it resolves
// the agent in this worker's configuration and pins manifest, prompts and policy as artifacts. Decides no event.
// What another worker could mend (an agent that is missing here, a newer journal) throws: it is tried again and shows in
// the Web UI; only what can never run is refused.
import { canonical, sha256Hex, type Json } from '../core/canonical';
import type { ForkOrder, FreshRun } from '../core/commands';
import { EVENT_SCHEMA } from '../core/events';
import type { PlanPatch } from '../core/plan';
import { evolve } from '../core/evolve';
import { outlineByReference, parsePlan } from '../core/rules/planning';
import { LIMITS, type RunInput, type RunSpec } from '../core/run';
import { LAW } from '../core/versions/laws';
import { migrationOf } from '../core/versions/migrate';
import type { RunRow } from '../core/row';
import type { State } from '../core/state';
import type { Failure } from '../core/failure';
import { redactJson, redactText, secretIn } from '../ports/redaction';
import type { HandsDeps, KnownAgent } from './deps';
import { failure } from './failures';
import { learnSecrets } from './guard';
import { foldOn, startOf } from './fold-journal';
import { readJson } from './outputs';
import type { OpenAnswer } from './types';

type Opened = OpenAnswer extends infer A ? A extends { worker: unknown } ? Omit<A, 'worker'> : never : never;

export function makeOpen(deps: HandsDeps): (input: RunInput) => Promise<OpenAnswer> {
  return async (input) => ({ worker: deps.worker, ...await opened(deps, input) }) as OpenAnswer;
}

async function opened(deps: HandsDeps, input: RunInput): Promise<Opened> {
  const { runId, epoch } = input;
  const [head, row] = [await deps.journal.head(runId), await deps.journal.row(runId)];
  const purged = row ? null : await deps.journal.purged(runId);
  if (purged) return { kind: 'refused', why: `Run ${runId} was purged; it was ${purged.status}.` };
  if (!head || !row) throw new Error(`The journal of this worker does not know run ${runId}; start a worker on the state folder in which the run was accepted.`);
  if (row.inputDigest !== input.inputDigest) return { kind: 'refused', why: `Run ${runId} was accepted with other input (${row.inputDigest.slice(0, 12)} is not ${input.inputDigest.slice(0, 12)}).` };
  if (head.epoch > epoch) return { kind: 'superseded', epoch: head.epoch };
  // Begun anew on what an older copy holds, the run would take what it did since for not done.
  if (head.epoch < epoch || head.version < (input.version ?? 0)) throw new Error(`The journal of ${runId} ends at ${head.version} in epoch ${head.epoch}, and the run had come to ${head.epoch < epoch ? `epoch ${epoch}` : input.version}: events were lost, probably because the database was put back from an older copy. Put the newest copy back, or go on from what is here with \`npx longhaul runs restore ${runId}\`.`);
  if (head.version === 0) return fresh(deps, input, row);
  const { state, tail } = await foldOn(deps, await startOf(deps, runId, head.version), head.version, true);
  const now = tail.reduce(evolve, state);
  const migrate = migrationOf(now, { law: LAW, eventSchema: EVENT_SCHEMA, build: deps.build });
  const fork = row.forkOf?.at === head.version ? await forked(deps, input, row, now) : null;
  return { kind: 'restored', checkpoint: state.version > 0 ? state : null, tail, more: false, ...(migrate ? { migrate } : {}), ...(fork ? { fork } : {}) };
}

/** What makes a copied journal that of the fork: the request, and the plan with which it goes on, if one was given. */
async function forked(deps: HandsDeps, { runId, epoch, inputDigest, inputRef }: RunInput, row: RunRow, state: State): Promise<ForkOrder> {
  const spec = await readJson(deps.artifacts, inputRef) as unknown as RunSpec;
  if (!row.forkOf) throw new Error(`Run ${runId} is no fork.`);
  learnSecrets(spec, deps.secret);
  const secret = secretIn(spec);
  const parsed = spec.plan === null || secret !== null ? null : parsePlan(spec.plan, state.agent.tools, { model: state.agent.model !== null });
  // The client has read the plan before the run was accepted.
  const refused = secret !== null ? secretGiven(secret, inputRef) : parsed && 'reasons' in parsed ? unfit(parsed.reasons) : null;
  const plan = parsed && 'patch' in parsed ? outlineByReference(parsed.patch, inputRef, ['plan']) : null;
  return {
    parent: row.forkOf, epoch, owner: redactJson(spec.owner), title: redactText(row.title), seed: sha256Hex(`${runId}|${inputDigest}`), inputDigest, inputRef,
    ledgerIncarnation: row.ledgerIncarnation ?? await deps.ledger.incarnation(), plan, budget: spec.budget, ...(refused ? { refused } : {}), ...(deps.mode === 'production' ? { mode: 'production' as const } : {}),
  };
}

async function fresh(deps: HandsDeps, input: RunInput, row: RunRow): Promise<Opened> {
  const spec = await readJson(deps.artifacts, input.inputRef) as unknown as RunSpec;
  const agent = deps.agents.get(spec.agent);
  if (!agent) throw new Error(`No agent is called ${spec.agent} in this worker's configuration (known: ${[...deps.agents.keys()].join(', ') || 'none'}); add it to longhaul.config, or start a worker that has it.`);
  const { manifest } = agent;
  learnSecrets(spec, deps.secret);
  const secret = secretIn(spec);
  const plan = secret === null ? declaredPlan(spec, input, agent) : { patch: null };
  const refused = secret !== null ? secretGiven(secret, input.inputRef) : 'reasons' in plan ? unfit(plan.reasons) : null;
  const run: FreshRun = {
    agent: manifest, pins: { ...await pinned(deps, agent), ...await modeOf(deps, spec) }, budget: { ...manifest.budget, ...spec.budget }, owner: redactJson(spec.owner),
    seed: sha256Hex(`${input.runId}|${input.inputDigest}`), title: redactText(row.title || agent.title(spec)), inputDigest: input.inputDigest, inputRef: input.inputRef,
    ...(spec.parent ? { parent: spec.parent } : {}), ...(LAW > 1 ? { law: LAW } : {}),
    ledgerIncarnation: await ledgerOf(deps, row, spec), plan: 'patch' in plan ? plan.patch : null, ...(refused === null ? {} : { refused }),
  };
  return { kind: 'fresh', fresh: run };
}

/**
 * The ledger in which calls of this run may have been claimed first: that of the moment when it was accepted, which may be an older
 * one than today's. A child is accepted anew after a loss, by a parent that began before it: it may have acted under that one's.
 */
async function ledgerOf({ journal, ledger }: HandsDeps, row: RunRow, { parent }: RunSpec): Promise<string> {
  const [created] = parent ? (await journal.read(parent.runId, 0, 1)).events : [];
  const now = await ledger.incarnation();
  const known = [row.ledgerIncarnation, created?.type === 'RunCreated' ? created.data.ledgerIncarnation : undefined];
  return known.find((one) => one !== undefined && one !== now) ?? now;
}

/** A client knows the secrets of its own environment only; what it let through is noticed here, before anything is done or sent. */
const secretGiven = (name: string, inputRef: RunInput['inputRef']): Failure => failure('argument', 'secret', [
  `What the run was given holds the value of the secret ${name}: start it anew with {"$secret": "${name}"} in its place,`,
  `and change the secret, since artifact ${inputRef.sha256.slice(0, 12)} has kept the value.`,
].join(' '));

/** The configuration here may be another than the one that the plan was judged by: the run begins, and fails with the reasons. */
const unfit = (reasons: string[]): Failure => failure('argument', 'plan', `The plan cannot be followed by this worker's configuration: ${reasons.join(' ')} Mend the one or the other, restart the worker and start the run anew.`.slice(0, LIMITS.errorBytes));

function declaredPlan(spec: RunSpec, { inputRef }: RunInput, { manifest }: KnownAgent): { patch: PlanPatch | null } | { reasons: string[] } {
  if (spec.plan === null) {
    return manifest.planner === 'model' ? { patch: null } : { reasons: [`Agent ${manifest.name} follows declared plans; start the run with one.`] };
  }
  const parsed = parsePlan(spec.plan, manifest.tools, { model: manifest.model !== null });
  return 'reasons' in parsed ? parsed : { patch: outlineByReference(parsed.patch, inputRef, ['plan']) };
}

/** Must decisions in the run be signed? A child is no laxer than its parent, whatever worker begins it. */
async function modeOf({ mode, journal }: HandsDeps, { parent }: RunSpec): Promise<Pick<FreshRun['pins'], 'mode'>> {
  if (mode === 'production') return { mode };
  if (!parent) return {};
  const [created] = (await journal.read(parent.runId, 0, 1)).events;
  const at = (await journal.row(parent.runId))?.forkOf?.at;
  const own = at === undefined ? [] : (await journal.read(parent.runId, at, 2)).events;
  const signed = (created?.type === 'RunCreated' && created.data.pins.mode === 'production') || own.some((event) => event.type === 'RunForked' && event.data.mode === 'production');
  return signed ? { mode: 'production' } : {};
}

async function pinned(deps: HandsDeps, { manifest, prompts }: KnownAgent): Promise<FreshRun['pins']> {
  const policy = deps.policy.describe();
  const json = (value: unknown, name: string) => deps.artifacts.write(Buffer.from(canonical(value as Json)), { mediaType: 'application/json', summary: `${name} of ${manifest.name} ${manifest.version}`, name: `${name}.json` });
  return {
    build: deps.build, manifest: await json(manifest, 'manifest'), prompts: await json(prompts, 'prompts'),
    policy: await deps.artifacts.write(Buffer.from(policy.text), { mediaType: 'text/plain', summary: `policy ${policy.name}`, name: 'policy.txt' }),
    model: manifest.model, eventSchema: EVENT_SCHEMA,
  };
}
