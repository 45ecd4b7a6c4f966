// The journal and the ledger as their ports describe them, over one store thread.
// Owns nothing but the last close: the thread ends when both have been closed.
import type { JournalPort } from '../../../ports/journal';
import type { LedgerPort } from '../../../ports/ledger';
import type { StoreThread } from './thread-client';

/** Journal and ledger of one database. Every method rejects with StoreError when the store cannot do its work. */
export function portsOf(thread: StoreThread): { journal: JournalPort; ledger: LedgerPort } {
  const open = new Set(['journal', 'ledger']);
  const close = async (which: string): Promise<void> => {
    if (open.delete(which) && open.size === 0) await thread.close();
  };
  const journal: JournalPort = {
    accept: (row) => thread.ask('accept', row),
    fork: (row, from) => thread.ask('fork', row, from),
    append: (request) => thread.ask('append', request),
    read: (runId, after, limit) => thread.ask('read', runId, after, limit),
    head: (runId) => thread.ask('head', runId),
    raiseEpoch: (runId, from, lost) => thread.ask('raiseEpoch', runId, from, lost),
    row: (runId) => thread.ask('row', runId),
    list: (query) => thread.ask('list', query),
    byKey: (runId, key) => thread.ask('byKey', runId, key),
    runOfWait: (waitId) => thread.ask('runOfWait', waitId),
    refersTo: (runId, sha256) => thread.ask('refersTo', runId, sha256),
    exportRows: (runId, after, limit) => thread.ask('exportRows', runId, after, limit),
    saveCheckpoint: (checkpoint) => thread.ask('saveCheckpoint', checkpoint),
    checkpoint: (runId, upTo) => thread.ask('checkpoint', runId, upTo),
    checkpoints: (runId) => thread.ask('checkpoints', runId),
    purge: (runId, options) => thread.ask('purge', runId, options),
    purged: (runId) => thread.ask('purged', runId),
    isNamed: (sha256) => thread.ask('isNamed', sha256),
    close: () => close('journal'),
  };
  const ledger: LedgerPort = {
    incarnation: () => thread.ask('incarnation'),
    claim: (request) => thread.ask('claim', request),
    renew: (key, fence, leaseMs) => thread.ask('renew', key, fence, leaseMs),
    settle: (key, fence, outcome) => thread.ask('settle', key, fence, outcome),
    release: (key, fence) => thread.ask('release', key, fence),
    markUnknown: (key, fence) => thread.ask('markUnknown', key, fence),
    get: (key) => thread.ask('get', key),
    byRun: (runId) => thread.ask('byRun', runId),
    open: () => thread.ask('open'),
    close: () => close('ledger'),
  };
  return { journal, ledger };
}
