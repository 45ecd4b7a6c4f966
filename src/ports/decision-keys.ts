// Port: the keys that decisions are signed with. Makes tokens, tells what a token says, and looks at a kept proof once more.
// Owns no rule: what a genuine token allows is judged by core/rules/authority.ts. A key never leaves the adapter.
import type { Checked, Claims, May, Proof } from '../core/proof';

/** Keys that cannot be had here. The message is one sentence that says what to do. */
export class KeysError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeysError';
  }
}

export interface DecisionKeys {
  /** A token of these claims, signed with the newest key. Throws KeysError where there is none. */
  sign(claims: Claims): string;
  /** Is the token genuine? `use` is what the proof of it will be kept for. Never throws: keys that cannot be read are a reason, too. */
  check(token: string, use: May): Checked;
  /**
   * Why a kept proof does not hold for this run and person, or null. `away`: the keys cannot be read at this moment, so that
   * nothing is known. Never throws.
   */
  faultOf(run: string, sub: string, proof: Proof): { kind: 'broken' | 'away'; why: string } | null;
}
