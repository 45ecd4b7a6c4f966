// Reads histories as Temporal's own tools write them: the command line (`workflow show --output json`), the Web UI's download, answers
// of the HTTP interface. The SDK's reader of such files refuses to work where npm has put several copies of protobufjs side by side,
// so the copy that the SDK's message types were made with is looked up here. Replays nothing.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** One event, as far as replay words look into it; ids are whole numbers of some kind (Long, text or number). */
export interface HistoryEvent {
  eventId?: unknown;
  eventType?: unknown;
  workflowExecutionStartedEventAttributes?: { workflowId?: string | null; originalExecutionRunId?: string | null } | null;
  activityTaskScheduledEventAttributes?: { activityType?: { name?: string | null } | null } | null;
  markerRecordedEventAttributes?: { markerName?: string | null; details?: Record<string, { payloads?: { data?: Uint8Array | null }[] | null }> | null } | null;
  [attributes: string]: unknown;
}
/** A history of the SDK's own message type. */
export interface History { events: HistoryEvent[] }

interface ProtoJson { fromJson: (type: unknown, json: unknown, options: { ignoreUnknownFields: boolean }) => History | null }

/** Reads a history file. Throws one sentence where it is none. */
export function readHistory(file: string): History {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file} is no JSON file (${error instanceof Error ? error.message : String(error)}): save the history with \`temporal workflow show -w ID --output json\`, or download it in the Web UI.`, { cause: error });
  }
  const events = eventsIn(json);
  if (!events) throw new Error(`${file} holds no history: it should have a list of events, as \`temporal workflow show -w ID --output json\` writes it.`);
  try {
    return decoded({ events: events.map(named) });
  } catch (error) {
    throw new Error(`The history in ${file} cannot be read (${error instanceof Error ? error.message : String(error)}): save it with encoded payloads, as the server has them.`, { cause: error });
  }
}

/** Does a parsed file look like a history? */
export function eventsIn(json: unknown): Record<string, unknown>[] | null {
  const within = Array.isArray(json) ? json : isMembers(json) ? json['events'] ?? (isMembers(json['history']) ? json['history']['events'] : undefined) : undefined;
  return Array.isArray(within) && within.length > 0 && within.every((one) => isMembers(one) && 'eventId' in one && 'eventType' in one) ? within as Record<string, unknown>[] : null;
}

/** The workflow id and execution that a history says it belongs to. */
export function ownerOf({ events }: History): { workflowId: string | null; executionId: string | null } {
  const started = events[0]?.workflowExecutionStartedEventAttributes;
  return { workflowId: started?.workflowId || null, executionId: started?.originalExecutionRunId || null };
}

function decoded(history: object): History {
  const worker = createRequire(require.resolve('@temporalio/worker'));
  const proto = createRequire(worker.resolve('@temporalio/proto'));
  const { fromJson } = proto('protobufjs/ext/protojson') as ProtoJson;
  const { patchProtobufRoot } = worker('@temporalio/proto/lib/patch-protobuf-root') as { patchProtobufRoot: (root: unknown) => { lookupType(name: string): unknown } };
  const type = patchProtobufRoot(worker('@temporalio/proto/protos/json-module')).lookupType('temporal.api.history.v1.History');
  const read = fromJson(type, history, { ignoreUnknownFields: true });
  if (read === null) throw new Error('it is empty');
  return read;
}

/** Enumerations that older tools write as words: the member, and what the protocol puts before its names. */
const ENUMS: Record<string, string> = {
  eventType: 'EVENT_TYPE', parentClosePolicy: 'PARENT_CLOSE_POLICY', workflowIdReusePolicy: 'WORKFLOW_ID_REUSE_POLICY',
  initiator: 'CONTINUE_AS_NEW_INITIATOR', retryState: 'RETRY_STATE', timeoutType: 'TIMEOUT_TYPE', kind: 'TASK_QUEUE_KIND', cause: 'WORKFLOW_TASK_FAILED_CAUSE',
};

/** An event with the protocol's names of enumerations: `WorkflowExecutionStarted` as `EVENT_TYPE_WORKFLOW_EXECUTION_STARTED`. */
function named(event: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(event).map(([name, value]) => {
    if (name === 'eventType') return [name, constant(ENUMS['eventType'] ?? '', value)];
    return [name, name.endsWith('Attributes') && isMembers(value) ? attributes(value) : value];
  }));
}

function attributes(of: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => {
    const prefix = ENUMS[name];
    if (name === 'taskQueue' && isMembers(value)) return [name, attributes(value)];
    return [name, prefix === undefined ? value : constant(prefix, value)];
  }));
}

function constant(prefix: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.startsWith(prefix) || !/^[A-Z][a-z]/.test(value)) return value;
  return `${prefix}_${value.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toUpperCase()}`;
}

const isMembers = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
