// What the contract suites of the ports share: how a suite is registered, what it is handed, how it compares.
// Works with any runner that has global `describe` and `it` (jest, vitest, mocha). Imports no store: those are handed in.
import { strict as assert } from 'node:assert';
import { canonical } from '../../core/canonical';
import type { ArtifactsPort } from '../../ports/artifacts';
import type { JournalPort } from '../../ports/journal';
import type { LedgerPort } from '../../ports/ledger';

export interface StorePorts { journal: JournalPort; ledger: LedgerPort; artifacts: ArtifactsPort; close(): Promise<void> }

/** One fresh, empty store as a suite needs it. */
export interface StoresUnderTest {
  stores: StorePorts;
  /** Another set of ports over the same data, as a restarted process has it. The suite closes it. */
  again: () => Promise<StorePorts>;
  /** How another process opens the same data: a module whose `open(argument)` answers StorePorts. */
  elsewhere: { module: string; argument: string };
  /** Changes one byte of a stored artifact, or takes it away, behind the store's back. */
  damage: (sha256: string) => Promise<void>;
  lose: (sha256: string) => Promise<void>;
  /** Closes `stores` and removes the data. */
  close: () => Promise<void>;
}

export type OpenForTest = () => Promise<StoresUnderTest>;
/** A promise of the port and the code that proves it on a fresh store. */
export type Promised = Record<string, (under: StoresUnderTest) => Promise<void>>;

interface Runner { describe: (name: string, body: () => void) => void; it: (name: string, body: () => Promise<void>, timeoutMs: number) => void }

/** Registers every promise as a test that has a fresh store of its own; each may take up to `timeoutMs`. */
export function suite(name: string, open: OpenForTest, promised: Promised, timeoutMs = 60_000): void {
  const { describe, it } = globalThis as unknown as Runner;
  describe(name, () => {
    for (const [promise, prove] of Object.entries(promised)) {
      it(promise, async () => {
        const under = await open();
        try {
          await prove(under);
        } finally {
          await under.close();
        }
      }, timeoutMs);
    }
  });
}

/** Fails unless both values have the same canonical JSON. */
export function same(actual: unknown, expected: unknown, why?: string): void {
  assert.equal(readable(actual), readable(expected), why);
}

/** Fails unless the promise rejects with an error whose message matches. */
export async function rejects(promise: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(promise, (error: Error) => {
    assert.match(error.message, message);
    return true;
  });
}

const readable = (value: unknown): string => (value === undefined ? 'undefined' : JSON.stringify(JSON.parse(canonical(value)), null, 1));

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
