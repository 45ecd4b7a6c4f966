// Kills this very process at a named point, for real, so that tests and `demo --crash` meet what a power cut leaves behind.
// LONGHAUL_CRASH_AT is `point:detail[:n]`, e.g. `append:after:RunCreated` or `call:sent:publish:2`; detail `*` fits all.
// LONGHAUL_CRASH_ONCE names a file: it is made just before the kill, and while it is there nothing is killed.
import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs';
import { installCrashPoint } from '../../ports/crash-points';

/** Installs nothing where the variable is not set. Throws when it cannot be read. */
export function installCrashPointFromEnv(env: Record<string, string | undefined> = process.env): void {
  const at = env['LONGHAUL_CRASH_AT'];
  if (!at) return;
  const parts = /^([a-z]+:[a-z]+):([^:]+)(?::([1-9]\d*))?$/.exec(at);
  if (!parts) throw new Error(`LONGHAUL_CRASH_AT is ${JSON.stringify(at)}; write point:detail or point:detail:n, e.g. append:after:RunCreated.`);
  const [, point, detail, nth] = parts;
  const marker = env['LONGHAUL_CRASH_ONCE'];
  let left = Number(nth ?? 1);
  installCrashPoint((name, what) => {
    if (name !== point || (detail !== '*' && detail !== what)) return;
    if (marker !== undefined && existsSync(marker)) return;
    left -= 1;
    if (left === 0) die(marker);
  });
}

function die(marker: string | undefined): void {
  if (marker !== undefined) {
    const file = openSync(marker, 'w');
    fsyncSync(file);
    closeSync(file);
  }
  process.kill(process.pid, 'SIGKILL');
}
