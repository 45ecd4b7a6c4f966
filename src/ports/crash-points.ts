// Port: named points at which a test may kill the process for real. In production nothing is installed and a point is a no-op.
// Owns no behaviour: what happens at a point is the installer's business (worker.ts reads LONGHAUL_CRASH_AT).

export type CrashPoint = (name: string, detail: string) => void;

let reached: CrashPoint = () => undefined;

/** Installs what happens at crash points. Called once by a composition root. */
export function installCrashPoint(handler: CrashPoint): void {
  reached = handler;
}

/**
 * Marks a point. `detail` is a tool or the type of a batch's last event. The names, in the order of a call with an effect:
 * `append:before`, `append:after`, `call:before`, `call:ready` (before the claim), `call:claimed`, `call:sending`, `call:sent`
 * (before the blob), `call:blob` (before the settlement), `call:settled`, `call:answer` (before the activity returns).
 */
export function crashPoint(name: string, detail: string): void {
  reached(name, detail);
}
