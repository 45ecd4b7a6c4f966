// The second net under what the hands answer, store and log: values of secrets are taken out where texts are made (failures.ts,
// runner.ts, gate.ts, model.ts), and once more here, where everything passes on its way to history, artifacts and the log.
// What `open`, `read` and `append` answer stands in the journal already and is left as it is, byte for byte (I10).
import type { Json } from '../core/canonical';
import { ToolError } from '../core/failure';
import { secretsNamed } from '../core/rules/binding';
import { redactBut, redactBytes, redactJson, redactText, secretIn, withoutCredentials } from '../ports/redaction';
import type { ArtifactsPort } from '../ports/artifacts';
import type { ModelMessage, ModelPort } from '../ports/model';
import type { HandsDeps } from './deps';

/** Members that hold the runtime's own words, ids and digests: a secret that is one of these words must not bend an answer. */
const OWN: ReadonlySet<string> = new Set([
  'kind', 'class', 'via', 'state', 'decision', 'effect', 'type', 'then', 'as', 'sha256', 'mediaType', 'key', 'argsDigest', 'ledgerIncarnation',
  'incarnation', 'callId', 'stepId', 'id', 'dependsOn', 'uses', 'tool', 'at',
]);

/** Dependencies that store and log no value of a secret. */
export function guarded(deps: HandsDeps): HandsDeps {
  return {
    ...deps,
    artifacts: guardedArtifacts(deps.artifacts),
    log: (message, about) => deps.log(withoutCredentials(redactText(message)), about && redactJson(about)),
  };
}

/** A store that takes values of secrets out of bytes, names and summaries before they are written. */
export function guardedArtifacts(artifacts: ArtifactsPort): ArtifactsPort {
  return {
    write: (bytes, { mediaType, summary, name }) => artifacts.write(redactBytes(bytes, mediaType), { mediaType, summary: redactText(summary), ...(name === undefined ? {} : { name: redactText(name) }) }),
    read: (sha256) => artifacts.read(sha256),
    readRange: (sha256, start, end) => artifacts.readRange(sha256, start, end),
    has: (sha256) => artifacts.has(sha256),
    verify: (sha256) => artifacts.verify(sha256),
    list: () => artifacts.list(),
    stat: (sha256) => artifacts.stat(sha256),
    remove: (sha256, writtenBefore) => artifacts.remove(sha256, writtenBefore),
  };
}

/** A hand whose answer goes into history without values of secrets. */
export const guardedHand = <A, R>(hand: (asked: A) => Promise<R>): ((asked: A) => Promise<R>) => quiet(async (asked) => redactBut(OWN, await hand(asked)));

/** A hand that throws without its stack and its cause, which Temporal would keep, and without values of secrets. */
export function quiet<A, R>(hand: (asked: A) => Promise<R>): (asked: A) => Promise<R> {
  return async (asked) => {
    try {
      return await hand(asked);
    } catch (error) {
      throw scrubbed(error);
    }
  };
}

function scrubbed(error: unknown): unknown {
  if (!(error instanceof Error)) return new Error(withoutCredentials(redactText(String(error))));
  try {
    // Half a character would not pass as UTF-8, and the SDK would end the worker over it.
    error.message = withoutCredentials(redactText(error.message)).replaceAll(/\p{Surrogate}/gu, '\ufffd');
    error.stack = `${error.name}: ${error.message}`;
    if ('cause' in error && error.cause !== undefined) error.cause = undefined;
    return error;
  } catch {
    return new Error(withoutCredentials(redactText(error.message)));
  }
}

/** A model that is told no value of a secret, and from whose answer what it knows of one all the same is taken out. */
export function guardedModel(port: ModelPort): ModelPort {
  return {
    id: port.id,
    async generate(request) {
      const answer = await port.generate({ ...request, messages: request.messages.map(told) });
      return { ...answer, text: redactText(answer.text), calls: answer.calls.map((call) => {
        const name = secretIn(call.args) ?? secretIn(call.tool);
        if (name === null) return call.error === undefined ? call : { ...call, error: redactText(call.error) };
        return { ...call, tool: redactText(call.tool), args: {}, error: 'The arguments held the value of a secret, so this call was not made; secrets are named by people in plans and configuration: leave it out.' };
      }) };
    },
  };
}

function told(message: ModelMessage): ModelMessage {
  switch (message.role) {
    case 'assistant': return { ...message, text: redactText(message.text), calls: message.calls.map((call) => ({ ...call, args: redactJson(call.args) })) };
    case 'tool': return { ...message, result: redactJson(message.result) };
    default: return { ...message, text: redactText(message.text) };
  }
}

/** Throws ToolError `argument` when arguments hold the value of a secret, which would then stand in events and artifacts. */
export function refuseSecrets(args: Json): void {
  const name = secretIn(args);
  if (name !== null) throw new ToolError('argument', 'secret', `The arguments hold the value of the secret ${name}: write {"$secret": "${name}"} in the plan in its place.`);
}

/** Reads every secret that a run refers to, so that its value is known from now on; one that is not set is told where it is needed. */
export function learnSecrets(value: unknown, secret: (name: string) => string): void {
  for (const name of secretsNamed(value as Json)) {
    try {
      secret(name);
    } catch {
      continue;
    }
  }
}
