// What a run can be told: registered synchronously as the first act of the workflow, since an Update without a handler is
// refused at the end of its activation. Handlers are total (I7): whatever arrives becomes a command or a refusal of its
// shape, and never an exception. They write nothing and decide nothing. What no hand has to look at is put in line as it came and
// read when its turn comes, so that a workflow task that begins with thousands of Signals does not spend its time on them.
import { CancellationScope, defineQuery, defineSignal, defineUpdate, setDefaultSignalHandler, setHandler, workflowInfo } from '@temporalio/workflow';
import { sha256Hex } from '../core/canonical';
import type { Command } from '../core/commands';
import type { Actor } from '../core/run';
import { faultOfMessage, MESSAGE, messageFromSignal, PLAIN_SIGNALS, WAKE, type Message, type MessageAnswer } from '../messages';
import type { Inbox } from './inbox';
import { listen } from './interceptors';
import { look as lookAt } from './verify';

/** Where a message came from when nobody says. */
const TEMPORAL: Actor = { id: 'temporal', via: 'temporal', assurance: 'claimed' };
const BUSY: MessageAnswer = { kind: 'busy', text: 'The run is renewing its history and takes no message at this moment; ask again.' };
const HEARD: MessageAnswer = { kind: 'done', text: 'The run has heard the message.' };

const update = defineUpdate<MessageAnswer, [Message]>(MESSAGE);
const look = defineQuery<{ version: number; sha256: string; page: string } | null>('details');

/** What handlers may ask of the conductor; set once the journal is open. */
export interface Desk {
  /** Counts an Update; true when this execution takes no more. */
  full(): boolean;
  /** Somebody thinks that this execution has fallen behind its journal: it reads on before its next turn. */
  woken: boolean;
  /** The published state as canonical text, and its page for people; null before the journal is open. */
  look(): { version: number; canonical: string; page: string } | null;
  /** The tool of the call that an open approval is about. */
  toolOf(approvalId: string): { tool: string; version: string } | null;
}

/** Registers every handler. Native cancel becomes a Cancel command; the answer tells whether one was received. */
export function registerHandlers(runId: string, inbox: Inbox, desk: Desk): { cancelled: boolean } {
  let signals = 0;
  /** Signals carry no id of their own: their number in this execution is one, and a re-run of a lost task counts alike. */
  const signalId = (): string => `signal-${workflowInfo().runId}-${++signals}`;
  const malformed = (messageId: string, why: string): void => inbox.put(() => ({ type: 'Malformed', messageId, why, actor: TEMPORAL }));
  const submit = ({ token, ...message }: Message): Promise<MessageAnswer | null> => {
    const found = lookAt(message, token, runId, desk.toolOf('approvalId' in message.body ? message.body.approvalId : ''));
    return found ? inbox.submitSeen(message, found) : inbox.submit({ type: 'Message', message });
  };
  const hear = (message: Message, messageId: string): void => {
    if (!isLookedAt(message)) return inbox.put(() => read(message, messageId));
    const fault = faultOfMessage(message);
    if (fault) malformed(messageId, fault);
    else void submit(message);
  };
  const hearSignal = (name: string, payload: unknown): void => {
    if (name === WAKE) { desk.woken = true; return; }
    const messageId = signalId();
    if (name === MESSAGE) hear(payload as Message, messageId);
    else if (isPlain(name)) hear(messageFromSignal(name, payload, messageId), messageId);
    else malformed(messageId, `No signal is called ${JSON.stringify(name).slice(0, 100)}; known are ${[MESSAGE, ...PLAIN_SIGNALS].join(', ')}.`);
  };

  setHandler(update, async (message) => (desk.full() ? BUSY : (await submit(message)) ?? HEARD), {
    validator: (message) => {
      const fault = faultOfMessage(message);
      if (fault) throw new TypeError(fault);
    },
  });
  listen(hearSignal);
  for (const name of [MESSAGE, ...PLAIN_SIGNALS, WAKE]) setHandler(defineSignal<[unknown]>(name), (payload) => hearSignal(name, payload));
  setDefaultSignalHandler(hearSignal);
  setHandler(look, () => {
    const seen = desk.look();
    return seen && { version: seen.version, sha256: sha256Hex(seen.canonical), page: seen.page };
  });
  return hearNativeCancel(inbox);
}

const isPlain = (name: string): name is (typeof PLAIN_SIGNALS)[number] => PLAIN_SIGNALS.some((known) => known === name);

/** May hands have to look at it before it counts? (verify.ts) Total, like whatever reads what arrives. */
function isLookedAt(message: Partial<Message> | null | undefined): boolean {
  const { token, body } = (message ?? {}) as { token?: unknown; body?: { kind?: unknown } | null };
  return token !== undefined || body?.kind === 'edit' || body?.kind === 'approve';
}

/** The command of what came by a Signal and no hand has to look at. */
function read(message: Message, messageId: string): Command {
  const why = faultOfMessage(message);
  return why ? { type: 'Malformed', messageId, why, actor: TEMPORAL } : { type: 'Message', message };
}

/** Must be called in the workflow's root scope. */
function hearNativeCancel(inbox: Inbox): { cancelled: boolean } {
  const native = { cancelled: false };
  CancellationScope.current().cancelRequested.catch(() => {
    native.cancelled = true;
    void inbox.submit({ type: 'Cancel', actor: TEMPORAL, reason: 'Cancelled through Temporal.' });
  });
  return native;
}
