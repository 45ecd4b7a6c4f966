// Port: policy, asked once for a prepared call and before anything is dispatched. Denies what it does not know.
// Owns no rule; the adapter in adapters/policy reads them from a table.
import type { PolicyVerdict } from '../core/events';
import type { Effect } from '../core/run';

export interface PolicyQuestion {
  runId: string; agent: string; owner: string;
  tool: string; version: string; effect: Effect;
  argsDigest: string;
  /** Canonical JSON of the arguments with secrets as names, at most 64 KiB. */
  args: unknown;
}

export interface PolicyPort {
  /** Name and content of the rules in force; pinned by hash in RunCreated. */
  describe(): { name: string; text: string };
  decide(question: PolicyQuestion): Promise<PolicyVerdict>;
}
