// Which policy answers for a run: the one that it is pinned to, as long as its text can be loaded and read, whatever the configuration
// holds by now. Where today's policy is stricter, that counts: what is forbidden by now is forbidden to old runs as well. A policy that
// is code and no table cannot be loaded; today's then answers alone. Decides no call; what is read once is kept, since it never changes.
import { sha256Hex } from '../core/canonical';
import type { PolicyVerdict } from '../core/events';
import type { ArtifactRef } from '../core/run';
import type { PolicyPort, PolicyQuestion } from '../ports/policy';
import type { HandsDeps } from './deps';

type Deps = Pick<HandsDeps, 'policy' | 'journal' | 'artifacts' | 'policyOf' | 'log'>;

/** Runs, and policies, that are remembered. */
const MOST = 1_000;

/** Answers for any run. Throws what the stores throw: nothing is asked of a policy that is not certainly the run's. */
export function makePolicy(deps: Deps): (question: PolicyQuestion) => Promise<PolicyVerdict> {
  const pins = new Map<string, ArtifactRef>();
  const policies = new Map<string, PolicyPort | null>();
  const pinned = async (runId: string): Promise<PolicyPort | null> => {
    const pin = pins.get(runId) ?? await pinOf(deps, runId);
    // Its first turn is not in the journal yet: this very worker is about to pin it to the policy of today.
    if (pin === null) return deps.policy;
    keep(pins, runId, pin);
    const { sha256 } = pin;
    if (sha256 === sha256Hex(deps.policy.describe().text)) return deps.policy;
    const known = policies.get(sha256);
    if (known !== undefined) return known;
    const policy = deps.policyOf(new TextDecoder().decode(await deps.artifacts.read(sha256)));
    if (!policy) deps.log('the policy that a run is pinned to is code, so that it cannot be loaded; the one of this configuration answers', { runId, sha256 });
    keep(policies, sha256, policy);
    return policy;
  };
  return async (question) => {
    const then = await pinned(question.runId);
    if (then === null || then === deps.policy) return deps.policy.decide(question);
    return stricter(await then.decide(question), await deps.policy.decide(question));
  };
}

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const;

/** Of two that are as strict, the run's own. */
const stricter = (pinned: PolicyVerdict, today: PolicyVerdict): PolicyVerdict => (STRICTNESS[today.decision] > STRICTNESS[pinned.decision] ? today : pinned);

async function pinOf({ journal }: Deps, runId: string): Promise<ArtifactRef | null> {
  const [created] = (await journal.read(runId, 0, 1)).events;
  return created?.type === 'RunCreated' ? created.data.pins.policy : null;
}

function keep<V>(known: Map<string, V>, key: string, value: V): void {
  if (known.size >= MOST) known.clear();
  known.set(key, value);
}
