// Who this process is as a holder of claims, and when another holder is certainly gone. A process is named by pid and start
// time within one boot and one pid namespace, so that two containers or two machines of one name are never taken for one
// another: then nothing is concluded, and the lease and the send window decide.
import { readFileSync, readlinkSync } from 'node:fs';
import os from 'node:os';
import type { ClaimOwner } from '../../ports/ledger';
import { identify, isRunning } from '../temporal/process-identity';

const UNKNOWN = 'unknown';

/** Host, boot and pid namespace; the host's name alone where the system does not tell the rest. */
function place(): string {
  const told = (read: () => string): string => {
    try {
      return read();
    } catch {
      return '';
    }
  };
  const boot = told(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8));
  const pids = told(() => readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, ''));
  return [os.hostname(), boot, pids].filter(Boolean).join('/');
}

const here = place();

/** This process. `worker` is its name for people. */
export function ownerHere(worker: string): ClaimOwner {
  return { host: here, pid: process.pid, processStart: identify(process.pid)?.startedAt ?? UNKNOWN, worker };
}

/** True only when the owner ran where this process runs, and runs still: it may be stopped or busy, and act later. */
export function ownerLives(owner: ClaimOwner): boolean {
  return owner.host === here && owner.processStart !== UNKNOWN && isRunning({ pid: owner.pid, startedAt: owner.processStart });
}

/** True only when the owner ran where this process runs, and runs no more. */
export function ownerGone(owner: ClaimOwner): boolean {
  return owner.host === here && owner.processStart !== UNKNOWN && !isRunning({ pid: owner.pid, startedAt: owner.processStart });
}
