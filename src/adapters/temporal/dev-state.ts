// `<stateDir>/dev.json`: what one start of the development services keeps for the next: ports and who runs.
// Other services may keep their own ports there; keys that this file does not know are preserved.
// Written by rename, so a reader never sees half of it; a file that cannot be read counts as empty.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ProcessIdentity } from './process-identity';

export interface DevState {
  /** Port of the server's gRPC front end. */
  port?: number;
  /** Port of the Web UI. */
  uiPort?: number;
  /** The development server that was started last, and the process that started it. */
  server?: ProcessIdentity;
  owner?: ProcessIdentity;
  [key: string]: unknown;
}

/** The kept state; empty when there is none. */
export function readDevState(stateDir: string): DevState {
  try {
    const value: unknown = JSON.parse(readFileSync(path.join(stateDir, 'dev.json'), 'utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as DevState) : {};
  } catch {
    return {};
  }
}

/** Merges `change` into the kept state; a key set to undefined is removed. */
export function updateDevState(stateDir: string, change: DevState): void {
  mkdirSync(stateDir, { recursive: true });
  const file = path.join(stateDir, 'dev.json');
  const next = `${file}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify({ ...readDevState(stateDir), ...change }, null, 2)}\n`);
  renameSync(next, file);
}
