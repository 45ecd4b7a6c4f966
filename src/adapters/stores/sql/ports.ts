// The journal and the ledger as their ports describe them, over whatever does their operations.
// Owns nothing but the last close: that ends when both have been closed.
import type { JournalPort } from '../../../ports/journal';
import type { LedgerPort } from '../../../ports/ledger';
import type { Asker } from './operations';

/** Journal and ledger of one database. Every method rejects with StoreError when the store cannot do its work. */
export function portsOf(store: Asker): { journal: JournalPort; ledger: LedgerPort } {
  const open = new Set(['journal', 'ledger']);
  const close = async (which: string): Promise<void> => {
    if (open.delete(which) && open.size === 0) await store.close();
  };
  const journal: JournalPort = {
    accept: (row) => store.ask('accept', row),
    append: (request) => store.ask('append', request),
    read: (runId, after, limit) => store.ask('read', runId, after, limit),
    head: (runId) => store.ask('head', runId),
    raiseEpoch: (runId, from, lost) => store.ask('raiseEpoch', runId, from, lost),
    row: (runId) => store.ask('row', runId),
    list: (query) => store.ask('list', query),
    byKey: (runId, key) => store.ask('byKey', runId, key),
    runOfWait: (waitId) => store.ask('runOfWait', waitId),
    refersTo: (runId, sha256) => store.ask('refersTo', runId, sha256),
    exportRows: (runId, after, limit) => store.ask('exportRows', runId, after, limit),
    saveCheckpoint: (checkpoint) => store.ask('saveCheckpoint', checkpoint),
    checkpoint: (runId, upTo) => store.ask('checkpoint', runId, upTo),
    checkpoints: (runId) => store.ask('checkpoints', runId),
    fork: (row, from) => store.ask('fork', row, from),
    purge: (runId, options) => store.ask('purge', runId, options),
    purged: (runId) => store.ask('purged', runId),
    isNamed: (sha256) => store.ask('isNamed', sha256),
    close: () => close('journal'),
  };
  const ledger: LedgerPort = {
    incarnation: () => store.ask('incarnation'),
    claim: (request) => store.ask('claim', request),
    renew: (key, fence, leaseMs) => store.ask('renew', key, fence, leaseMs),
    settle: (key, fence, outcome) => store.ask('settle', key, fence, outcome),
    release: (key, fence) => store.ask('release', key, fence),
    markUnknown: (key, fence) => store.ask('markUnknown', key, fence),
    get: (key) => store.ask('get', key),
    byRun: (runId) => store.ask('byRun', runId),
    open: () => store.ask('open'),
    close: () => close('ledger'),
  };
  return { journal, ledger };
}
