// The ledger of the simulator keeps the same contract as the embedded one, so that what the simulation proves of claims,
// fences and outcomes holds for the real store. Time is the machine's own here. The simulator begins in epoch 1, the suite in 0.
import type { AppendRequest } from '../../src/core/append';
import type { JournalPort } from '../../src/ports/journal';
import type { ClaimRequest, LedgerPort, LedgerRow, Outcome } from '../../src/ports/ledger';
import { ledgerInOneProcess } from '../../src/testing/contracts/ledger';
import type { StorePorts, StoresUnderTest } from '../../src/testing/contracts/suite';
import { SimulatedJournal } from '../../src/testing/simulator-journal';
import { SimulatedLedger } from '../../src/testing/simulator-ledger';

ledgerInOneProcess('simulated ledger', async () => simulated());

function simulated(): StoresUnderTest {
  const journals = new Map<string, SimulatedJournal>();
  const accepted = (runId: string): SimulatedJournal | undefined => journals.get(runId);
  let asker = '';
  const ground = { get epoch() { return accepted(asker)?.epoch ?? 1; }, awaited: (callId: string) => accepted(asker)?.awaited(callId) ?? null };
  const played = new SimulatedLedger(Date.now, ground, { dealsDeadClaims: false, unfenced: false, unaware: false });
  const journal = {
    accept: async ({ runId }: { runId: string }) => {
      if (!accepted(runId)) journals.set(runId, new SimulatedJournal(() => undefined));
    },
    append: async (request: AppendRequest) => accepted(request.runId)!.append({ ...request, epoch: request.epoch + 1 }),
    head: async (runId: string) => ({ epoch: 0, version: accepted(runId)?.version ?? 0, executionId: null }),
    raiseEpoch: async (runId: string) => ({ epoch: accepted(runId)!.raiseEpoch() - 1, raised: true }),
  } as unknown as JournalPort;
  const shown = (row: ReturnType<SimulatedLedger['get']>): LedgerRow | null => row && { ...row, now: Date.now() };
  const ledger: LedgerPort = {
    incarnation: async () => played.incarnation,
    claim: async (request: ClaimRequest) => {
      asker = request.runId;
      const answer = played.claim({ ...request, epoch: request.epoch + 1 });
      return answer.kind === 'fenced' ? { ...answer, epoch: answer.epoch - 1 } : answer;
    },
    renew: async (key, fence, leaseMs) => played.renew(key, fence, leaseMs),
    settle: async (key: string, fence: number, outcome: Outcome) => {
      const kind = played.settle(key, fence, outcome);
      if (kind === 'unknown-claim') throw new Error(`Nobody claimed ${key} under fence ${fence}.`);
      return { kind, outcome: kind === 'conflict' ? played.get(key)!.outcome! : outcome };
    },
    release: async (key, fence) => played.release(key, fence),
    markUnknown: async (key, fence) => played.markUnknown(key, fence),
    get: async (key) => shown(played.get(key)),
    byRun: async (runId) => played.all().filter((row) => row.runId === runId).map((row) => shown(row)!),
    open: async () => played.all().filter(({ state }) => state === 'claimed' || state === 'unknown').map((row) => shown(row)!),
    close: async () => undefined,
  };
  const stores = { journal, ledger, close: async () => undefined } as unknown as StorePorts;
  const none = async (): Promise<void> => undefined;
  return { stores, again: async () => stores, elsewhere: { module: '', argument: '' }, damage: none, lose: none, close: none };
}
