// What a signed decision says (claims of a token), and what a run keeps of it (a proof). Shapes and the texts that are signed;
// no cryptography: keys are a port (ports/decision-keys.ts), and the law sees only what a hand has found.
// The token itself never comes into an event, a state or a checkpoint (I11).
import { canonical } from './canonical';

/** What a token may be used for. `grant`: to approve for later calls too; `resolve`: to say what became of a call. */
export const MAY = ['approve', 'reject', 'edit', 'grant', 'answer', 'resolve'] as const;
export type May = (typeof MAY)[number];

/** What the signer vouches for. Times in ms. */
export interface Claims {
  /** Name of this one token: it decides once. */
  jti: string;
  /** Who may use it; becomes the actor of the decision. */
  sub: string;
  /** Who made it. */
  iss: string;
  run: string;
  /** Id of the approval, question or decision. */
  about: string;
  may: May[];
  /** Digest of what is decided about, as it stood when the token was made. */
  binding: string;
  iat: number;
  exp: number;
  /** Digest of the one message body that it stands for: set by a door that has looked at the sender's token. */
  body?: string;
  /** When that door received the decision. */
  received?: number;
}

/** What is kept of an accepted token. `seal` is made with the key over everything else here, the run and the subject. */
export interface Proof { kid: string; jti: string; iss: string; about: string; for: May; binding: string; seal: string }

/** What a hand found out about a token. */
export type Checked = { kind: 'valid'; claims: Claims; proof: Proof } | { kind: 'invalid'; why: string };

/** The text under the seal of a proof. */
export function sealedText(run: string, sub: string, { kid, jti, iss, about, for: what, binding }: Omit<Proof, 'seal'>): string {
  return canonical({ use: 'longhaul-proof', run, sub, kid, jti, iss, about, for: what, binding });
}
