// What Temporal's Web UI and lists show of a run: current details and search attributes, both projections of state.
// An upsert costs an event, so it is made on change only; a server that does not know our attributes gets none, since an
// unknown one would fail the workflow task for ever. Decides nothing.
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { defineSearchAttributeKey, type SearchAttributeUpdatePair } from '@temporalio/common';
import { canonical } from '../core/canonical';
import type { State } from '../core/state';
import { pageOf, rowOf } from '../core/summary';

const STATUS = defineSearchAttributeKey('AgentStatus', 'KEYWORD');
const OWNER = defineSearchAttributeKey('AgentOwner', 'KEYWORD');
const KIND = defineSearchAttributeKey('AgentKind', 'KEYWORD');
const WAITING_FOR = defineSearchAttributeKey('AgentWaitingFor', 'KEYWORD_LIST');
const DEADLINE = defineSearchAttributeKey('AgentDeadline', 'DATETIME');

/** The last moment of the year 9999: the server refuses later dates, and that would fail the workflow task for ever. */
const LAST_DATE = 253_402_300_799_000;

export class Display {
  constructor(private readonly searchAttributes: boolean) {}

  show(state: State): void {
    setCurrentDetails(pageOf(state));
    if (!this.searchAttributes) return;
    const changed = this.changes(state);
    if (changed.length > 0) upsertSearchAttributes(changed);
  }

  private changes(state: State): SearchAttributeUpdatePair[] {
    const row = rowOf(state);
    const waiting = [...new Set(row.waits.map((wait) => wait.kind))].sort();
    const wanted: SearchAttributeUpdatePair[] = [
      { key: STATUS, value: row.status },
      { key: OWNER, value: row.owner.id },
      { key: KIND, value: row.agent },
      { key: WAITING_FOR, value: waiting.length > 0 ? waiting : null },
      { key: DEADLINE, value: row.deadline === null || row.deadline > LAST_DATE ? null : new Date(row.deadline) },
    ];
    const shown = workflowInfo().typedSearchAttributes;
    const text = (value: unknown): string => canonical(value instanceof Date ? value.getTime() : value ?? null);
    return wanted.filter(({ key, value }) => text(shown.get(key as typeof STATUS)) !== text(value));
  }
}
