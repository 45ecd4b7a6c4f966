// Sends one message to a run. The Update comes first, since it answers; every failure of it means "not known", and the journal is
// asked under the message's key. Only when no worker answers goes the Signal twin, with the same id, so that it counts once.
// At most four Updates of this client are under way per run: more, and a server with default limits loses its workflow task.
import { closedAnswer, contentOf, saidOtherwise } from '../core/decide';
import type { RunEvent } from '../core/events';
import type { Message, MessageAnswer } from '../core/message';
import { faultOfMessage, MESSAGE, workflowIdOf } from '../messages';
import { rowOf } from './reads';
import { isOver } from './start';
import { isNotFound, isUnreachable, refusalOf, wordsOf, type Temporal } from './temporal';
import { secretIn } from '../ports/redaction';
import { ClientError, type ClientStores, type Delivery } from './types';

/** ms that one Update may take. */
const UPDATE_MS = 5_000;
/** ms in which a run that answers `busy` is asked again. */
const BUSY_MS = 15_000;
/** Updates under way per run and client. */
const MOST_UNDER_WAY = 4;

const pause = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Lets at most `MOST_UNDER_WAY` acts per key run at once; the rest wait their turn. */
export class Turnstile {
  private readonly lines = new Map<string, { inside: number; waiting: (() => void)[] }>();

  async pass<T>(key: string, act: () => Promise<T>): Promise<T> {
    const line = this.lines.get(key) ?? { inside: 0, waiting: [] };
    this.lines.set(key, line);
    if (line.inside >= MOST_UNDER_WAY) await new Promise<void>((resolve) => { line.waiting.push(resolve); });
    else line.inside += 1;
    try {
      return await act();
    } finally {
      const next = line.waiting.shift();
      if (next) next();
      else if ((line.inside -= 1) === 0) this.lines.delete(key);
    }
  }
}

export interface Sender { stores: ClientStores; temporal: () => Promise<Temporal>; turnstile: Turnstile }

/** Sends a message and answers what became of it. Never throws for a run or a server that is away; unknown runs, and a message that holds a secret, throw ClientError. */
export async function sendMessage(sender: Sender, runId: string, message: Message): Promise<Delivery> {
  const secret = secretIn(message);
  if (secret !== null) throw new ClientError('secret', `The message holds the value of the secret ${secret}, and what people say is kept: name it as {"$secret": "${secret}"} in the arguments of a plan instead. Nothing was sent.`);
  const fault = faultOfMessage(message);
  if (fault) return known(message, { kind: 'refused', text: fault });
  const row = await rowOf(sender.stores, runId);
  if (isOver(row)) return (await recorded(sender.stores, runId, message)) ?? known(message, closedAnswer(message, row.status, row.detail));
  const lost = await notStored(sender.stores, message);
  if (lost !== null) return (await recorded(sender.stores, runId, message)) ?? known(message, { kind: 'refused', text: `The message refers to artifact ${lost}, which is not in the store here: write its bytes there first, then send the message. Nothing was sent.` });
  try {
    const temporal = await sender.temporal();
    return await sender.turnstile.pass(runId, () => asked(sender, temporal, runId, message));
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    return { known: false, messageId: message.messageId, state: 'unreachable', why: wordsOf(error) };
  }
}

/** The artifact that a message refers to and that the store does not have; null when there is none. A store that does not answer says nothing. */
async function notStored({ artifacts }: ClientStores, { body }: Message): Promise<string | null> {
  const outputs = [body.kind === 'answer' && body.answer, body.kind === 'callback' && body.payload, body.kind === 'note' && body.text, body.kind === 'edit' && body.args];
  for (const output of outputs) {
    if (output && 'ref' in output && !(await artifacts.has(output.ref.sha256).catch(() => true))) return output.ref.sha256;
  }
  return null;
}

/** Temporal compares ids of Updates and never their content: with the content in the id, the law is asked and refuses a mismatch. */
const updateIdOf = (message: Message): string => `${message.messageId}#${contentOf(message).slice(0, 16)}`;

const known = (message: Message, answer: MessageAnswer): Delivery => ({ known: true, messageId: message.messageId, answer });

async function asked(sender: Sender, temporal: Temporal, runId: string, message: Message): Promise<Delivery> {
  const handle = temporal.client.workflow.getHandle(workflowIdOf(runId));
  for (const until = Date.now() + BUSY_MS; ;) {
    try {
      const answer = await temporal.connection.withDeadline(Date.now() + UPDATE_MS, () =>
        handle.executeUpdate<MessageAnswer, [Message]>(MESSAGE, { args: [message], updateId: updateIdOf(message) }));
      if (answer.kind !== 'busy' || Date.now() > until) return known(message, answer);
    } catch (error) {
      return notAnswered(sender, temporal, runId, message, error);
    }
    await pause(500);
  }
}

async function notAnswered(sender: Sender, temporal: Temporal, runId: string, message: Message, error: unknown): Promise<Delivery> {
  const refusal = refusalOf(error);
  if (refusal !== null) return known(message, { kind: 'refused', text: refusal });
  const told = await outcome(sender.stores, runId, message);
  if (told && (isNotFound(error) || isOver(await rowOf(sender.stores, runId)))) return told;
  if (isNotFound(error)) return noExecution(runId, message);
  // Also when the journal has the answer: an Update that is not accepted in history yet is lost with its workflow task, and the run
  // would sleep behind its own journal. The Signal wakes it for certain, and its message counts once.
  try {
    await temporal.connection.withDeadline(Date.now() + UPDATE_MS, () =>
      temporal.client.workflow.getHandle(workflowIdOf(runId)).signal(MESSAGE, message));
    if (told) return told;
  } catch (failure) {
    if (told && isUnreachable(failure)) throw failure;
    const heard = await outcome(sender.stores, runId, message);
    if (heard) return heard;
    if (isNotFound(failure)) return noExecution(runId, message);
    if (isUnreachable(failure)) throw failure;
    return { known: false, messageId: message.messageId, state: 'unreachable', why: wordsOf(failure) };
  }
  for (const until = Date.now() + 1_000; Date.now() < until; await pause(250)) {
    const heard = await outcome(sender.stores, runId, message);
    if (heard) return heard;
  }
  return {
    known: false, messageId: message.messageId, state: 'kept',
    why: `No worker has answered for run ${runId}; Temporal keeps the message, and it counts as soon as one runs (\`npx longhaul dev\` or \`npx longhaul worker\`). Asking again with --message-id ${message.messageId} is safe.`,
  };
}

const noExecution = (runId: string, message: Message): Delivery => ({
  known: false, messageId: message.messageId, state: 'no-execution',
  why: `Temporal runs no execution of ${runId} although the run is not over: restore it with \`npx longhaul runs restore ${runId}\`, then send the message again.`,
});

/** The outcome from the journal, also of a run that closed meanwhile; null when there is none yet. */
async function outcome(stores: ClientStores, runId: string, message: Message): Promise<Delivery | null> {
  const heard = await recorded(stores, runId, message);
  if (heard) return heard;
  const row = await rowOf(stores, runId);
  return isOver(row) ? known(message, closedAnswer(message, row.status, row.detail)) : null;
}

/** What the journal answers about a message; null when it does not hold it. */
export async function recorded(stores: ClientStores, runId: string, message: Message): Promise<Delivery | null> {
  const event = await stores.journal.byKey(runId, `msg:${message.messageId}`);
  return event && known(message, answerOf(event, message));
}

function answerOf(event: RunEvent, message: Message): MessageAnswer {
  if (event.message && event.message.digest !== contentOf(message)) return saidOtherwise(message);
  if (event.message) return event.message.answer;
  return { kind: 'refused', text: event.type === 'MessageRejected' ? event.data.why : 'The run has recorded the message.' };
}
