// Says in words what an event of a history holds and what the code asked for in its place, from the event and from what the SDK said.
// The words are for the person who changed the conductor; the SDK's own text stands beside them. Pure.
import type { HistoryEvent } from './history-file';

export const eventIdOf = (event: HistoryEvent): number => Number(String(event.eventId));

/** Names of the protocol's event types that replay meets, by their numbers. */
const TYPES: Record<number, string> = {
  1: 'the start of the run', 2: 'the end of the run', 3: 'the failure of the run', 6: 'a workflow task', 7: 'the start of a workflow task', 10: 'an activity', 17: 'a timer', 20: 'the cancel of a timer',
  21: 'the request to cancel an activity', 25: 'a marker', 23: 'the end of the run as cancelled', 28: 'a new execution of the run (continue-as-new)', 40: 'search attributes', 41: 'an accepted Update', 43: 'a completed Update', 45: 'a change of the memo',
};
/** Types that stand for a command of the code. */
const COMMANDS = new Set([2, 3, 10, 17, 20, 21, 23, 25, 28, 29, 33, 40, 41, 43, 45, 47]);

const typeOf = (event: HistoryEvent): number => Number(event.eventType);

/** Is this the start of a workflow task, at which replay looks whether the commands so far fit? */
export const isTaskStart = (event: HistoryEvent): boolean => typeOf(event) === 7;

/** What an event stands for: `activity call`, `local activity append`, `a timer`. */
export function thingOf(event: HistoryEvent): string {
  const activity = event.activityTaskScheduledEventAttributes?.activityType?.name;
  if (activity) return `activity ${activity}`;
  const local = localActivity(event);
  if (local !== null) return `local activity ${local}`;
  const marker = event.markerRecordedEventAttributes?.markerName;
  if (marker) return marker === 'core_patch' ? `the patch ${String(patchIn(event) ?? '')}`.trim() : `the marker ${marker}`;
  return TYPES[typeOf(event)] ?? `an event of type ${typeOf(event)}`;
}

/** What the SDK has to say, without the frame that it comes in. */
export function coreOf(text: string): string {
  const within = /message: "((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  return (within ?? text).replace(/\\(["\\])/g, '$1').slice(0, 600);
}

/**
 * The event that does not fit: the one that the SDK names, by its number or as the nth local activity, else the first command of the
 * task that is what it names.
 */
export function wrongEvent(events: readonly HistoryEvent[], task: readonly HistoryEvent[], said: string): HistoryEvent | null {
  const id = /HistoryEvent\(id: (\d+)/.exec(said)?.[1];
  if (id !== undefined) return events.find((event) => eventIdOf(event) === Number(id)) ?? null;
  const local = LOCAL.exec(said)?.[1];
  const marker = local === undefined ? undefined : events.find((event) => memberOf(textOf(event, 'data'), 'seq') === Number(local));
  if (marker) return marker;
  const commands = task.filter((event) => COMMANDS.has(typeOf(event)));
  const held = heldIn(said);
  return commands.find((event) => held !== null && thingOf(event).endsWith(` ${held}`)) ?? commands[0] ?? null;
}

/** One clause: what history holds there, and what the code asks for. */
export function wordsOf(event: HistoryEvent | null, said: string): string {
  const held = event === null ? heldIn(said) : thingOf(event);
  const asked = /No command scheduled/.test(said) || LOCAL.test(said) ? 'nothing like that' : askedIn(said) ?? 'something else';
  return `history holds ${held ?? 'something else'} here, and this code asks for ${asked}`;
}

const LOCAL = /Missing associated machine for LocalActivity\((\d+)\)/;
const quotedAfter = (words: RegExp, said: string): string | null => words.exec(said)?.[1] ?? null;
/** The name that the SDK says history has. */
const heldIn = (said: string): string | null => quotedAfter(/(?:scheduled event|recorded marker) '([^']+)'/i, said);

/** What the code asked for, where the SDK says so. */
function askedIn(said: string): string | null {
  const activity = /(local )?activity command '([^']+)'/i.exec(said);
  if (activity) return `${activity[1] ?? ''}activity ${activity[2] ?? ''}`;
  const machine = quotedAfter(/error: ([\w ]+?) machine does not handle/i, said)?.toLowerCase();
  return machine === undefined ? null : MACHINES[machine] ?? `an event of the ${machine} machine`;
}

/** What a state machine of the SDK stands for. */
const MACHINES: Record<string, string> = {
  activity: 'an activity', timer: 'a timer', 'local activity': 'a local activity', 'complete workflow': 'the end of the run', 'continue as new workflow': 'a new execution of the run (continue-as-new)',
  'upsert search attributes': 'search attributes', 'cancel workflow': 'the end of the run as cancelled', 'fail workflow': 'the failure of the run', patch: 'a patch', update: 'an answer to an Update',
};

const textOf = (event: HistoryEvent, detail: string): string | null => {
  const data = event.markerRecordedEventAttributes?.details?.[detail]?.payloads?.[0]?.data;
  return data ? new TextDecoder().decode(data) : null;
};

function localActivity(event: HistoryEvent): string | null {
  if (event.markerRecordedEventAttributes?.markerName !== 'core_local_activity') return null;
  const name = memberOf(textOf(event, 'data'), 'activity_type');
  return typeof name === 'string' ? name : '';
}

const patchIn = (event: HistoryEvent): unknown => memberOf(textOf(event, 'patch-data'), 'id');

function memberOf(text: string | null, name: string): unknown {
  try {
    return (JSON.parse(text ?? '') as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}
