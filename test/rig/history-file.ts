// Reads a history as Temporal's own tools write it (JSON). The SDK's reader of such files refuses to work where npm has put
// several copies of protobufjs side by side, so the copy that the SDK's message types were made with is looked up here.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

interface ProtoJson { fromJson: (type: unknown, json: unknown, options: { ignoreUnknownFields: boolean }) => History }
/** A history of the SDK's own message type, as far as tests look into it. */
export interface History { events: { activityTaskScheduledEventAttributes?: { activityType?: { name?: string | null } | null } | null }[] }

export function readHistory(file: string): History {
  const worker = createRequire(require.resolve('@temporalio/worker'));
  const proto = createRequire(worker.resolve('@temporalio/proto'));
  const { fromJson } = proto('protobufjs/ext/protojson') as ProtoJson;
  const { patchProtobufRoot } = worker('@temporalio/proto/lib/patch-protobuf-root') as { patchProtobufRoot: (root: unknown) => { lookupType(name: string): unknown } };
  const type = patchProtobufRoot(worker('@temporalio/proto/protos/json-module')).lookupType('temporal.api.history.v1.History');
  return fromJson(type, JSON.parse(readFileSync(file, 'utf8')), { ignoreUnknownFields: true });
}
