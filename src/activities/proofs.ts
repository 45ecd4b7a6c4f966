// Tokens and proofs as the hands see them: what a token says, when a decision comes in, and whether the proofs behind an approval
// still hold, as the last look before a call is claimed. Cryptography is not to be had inside a workflow, so it is here.
// Judges no rule; what a genuine token allows is core/rules/authority.ts.
import { digestOfApproval } from '../core/rules/authority';
import type { Asked } from '../core/wire';
import type { CallNeed, CallResult } from '../core/world';
import type { HandsDeps } from './deps';
import type { Hands } from './types';

/** ms after which a call is made anew whose proofs could not be looked at. */
const AWAY_MS = 30_000;

/** Tells whether a token is genuine. What it says goes into history without the token's signature. */
export function makeVerify({ keys }: Pick<HandsDeps, 'keys'>): Hands['verify'] {
  return async ({ token, use }) => keys.check(token, use);
}

/** Why a call may not be made on its approval: a signature that does not hold, or one that is for another call. Null when it may. */
export function unproved({ keys }: Pick<HandsDeps, 'keys'>, { runId, need }: Asked<CallNeed>, argsDigest: string): CallResult | null {
  const { approval, callId, tool, version, resourceVersion = null } = need;
  if (!approval?.proofs) return null;
  const { approvalId, proofs, planVersion = 0 } = approval;
  const no = (fault: string): CallResult => ({ kind: 'not-sent', why: 'proof', fault });
  if (proofs.length === 0) return no('nobody has signed the approval');
  const bound = digestOfApproval(runId, approvalId, callId, { tool, version, argsDigest, resourceVersion, planVersion });
  for (const { sub, ...proof } of proofs) {
    // A grant, and an edit, were signed for the call that was asked for before; that they cover this one is the law's word.
    const own = proof.about === approvalId ? proof.binding === bound : proof.for === 'grant' || proof.for === 'edit';
    if (!own) return no(`${sub} signed for another call than this`);
    const fault = keys.faultOf(runId, sub, proof);
    if (fault?.kind === 'away') return { kind: 'busy', why: fault.why, retryAfterMs: AWAY_MS };
    if (fault) return no(fault.why);
  }
  return null;
}
