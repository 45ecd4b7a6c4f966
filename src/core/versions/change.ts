// What every registry of versions says of one of its entries: laws (laws.ts), event shapes (upcasters.ts) and the conductor's order
// (workflows/patches.ts). A reader learns here whether an old branch may go. Words only, no rule.

export interface Change {
  /** What changed and for which reason, in one sentence. */
  why: string;
  /** The first released version of longhaul that has it. */
  since: string;
  /** When the old way may be taken out, e.g. `no open run was created before 0.3.0`. */
  until: string;
}
