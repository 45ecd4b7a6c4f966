// Port: named points at which a test may kill the process for real. In production nothing is installed and a point is a no-op.
// Owns no behaviour: what happens at a point is the installer's business (worker.ts reads LONGHAUL_CRASH_AT).

export type CrashPoint = (name: string, detail: string) => void;

let reached: CrashPoint = () => undefined;

/** Installs what happens at crash points. Called once by a composition root. */
export function installCrashPoint(handler: CrashPoint): void {
  reached = handler;
}

/** Marks a point: `name` is closed (`append:before`, `append:after`, `call:claimed`, …), `detail` a tool or an event type. */
export function crashPoint(name: string, detail: string): void {
  reached(name, detail);
}
