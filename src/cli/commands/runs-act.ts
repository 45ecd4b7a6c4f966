// `longhaul runs cancel|pause|resume|message|settle|extend`: what people tell a run as a whole. Each is one message with an
// actor and an id; nothing here decides anything.
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { MessageBody } from '../../core/message';
import { act, deliver } from '../act';
import { EXIT, Stop } from '../exit';
import { budgetOf, deciding, MOST, reaching, saidIn, upTo, type CommonOptions, type DeciderOptions } from '../options';
import { outputOf } from '../outputs';
import type { Place } from '../place';

type With<T> = DeciderOptions & T;

const send = (body: (options: With<{ reason: string }>) => MessageBody) =>
  async (place: Place, runId: string, options: With<{ reason: string }>): Promise<number> => deliver(await place.client(), runId, body(options), options);

async function message(place: Place, runId: string, text: string, options: DeciderOptions): Promise<number> {
  const note = await outputOf(place, saidIn('TEXT', text), `A message for run ${runId}`);
  return deliver(await place.client(), runId, { kind: 'note', text: note }, options);
}

async function settle(place: Place, runId: string, options: With<{ how: 'partial' | 'retry' | 'skip' | 'fail'; step?: string }>): Promise<number> {
  if (options.how === 'skip' && options.step === undefined) throw new Stop(EXIT.usage, '--as skip needs --step STEP: the failed step that the run goes on without.');
  const body: MessageBody = { kind: 'settle', as: options.how, ...(options.step === undefined ? {} : { stepId: options.step }) };
  return deliver(await place.client(), runId, body, options);
}

async function extend(place: Place, runId: string, options: With<{ budget: string }>): Promise<number> {
  return deliver(await place.client(), runId, { kind: 'extend', budget: budgetOf(options.budget) }, options);
}

const ANSWERS = ['partial', 'retry', 'skip', 'fail'];

/** Elsewhere --as is who acts: whoever writes a name here hears both meanings. */
function answerOf(text: string): string {
  if (ANSWERS.includes(text)) return text;
  throw new InvalidArgumentError(`Here --as says what to do: ${ANSWERS.join(', ')}. Who answers is --by NAME here, and --as NAME or --by NAME elsewhere.`);
}

/** Adds the acting commands to `longhaul runs`. */
export function addRunsAct(runs: Command): void {
  const reason = (one: Command): Command => deciding(one).option('--reason <text>', 'why', upTo('--reason', MOST.reason), '');
  reason(runs.command('cancel').argument('<run>').description('stop a run: nothing new starts, what runs hears it, what can be undone is undone'))
    .action(act(send(({ reason: why }) => ({ kind: 'cancel', reason: why })), ([, options]) => options));
  reason(runs.command('pause').argument('<run>').description('let calls under way finish and begin nothing new'))
    .action(act(send(({ reason: why }) => ({ kind: 'pause', reason: why })), ([, options]) => options));
  deciding(runs.command('resume').argument('<run>').description('go on after a pause'))
    .action(act(send(() => ({ kind: 'resume' })), ([, options]) => options));
  deciding(runs.command('message').argument('<run>').argument('<text>', 'text, or @FILE').description('tell the planner of a run something'))
    .action(act(message, ([, , options]) => options));
  // `--as` is the answer here, as in the hint that a blocked run prints; who answers is --by.
  reaching(runs.command('settle').argument('<run>').description('answer a blocked run: accept what is there, try again, skip a step, or fail'))
    .addOption(new Option(`--as <${ANSWERS.join('|')}>`, 'what to do').argParser(answerOf).makeOptionMandatory())
    .option('--step <step>', 'the failed step (for skip and retry)', upTo('--step', MOST.stepId, 1)).option('--by <name>', 'answer under this name').option('--message-id <id>', 'id of the message', upTo('--message-id', MOST.messageId, 1))
    .action(act((place, runId: string, options: CommonOptions & { as: 'partial' | 'retry' | 'skip' | 'fail'; by?: string; step?: string; messageId?: string }) =>
      settle(place, runId, { ...options, how: options.as, as: options.by }), ([, options]) => ({ ...options })));
  deciding(runs.command('extend').argument('<run>').description('give a run more budget')).requiredOption('--budget <k=v,..>', 'how much more of each kind, e.g. calls=100,usd=2,wall=2h')
    .action(act(extend, ([, options]) => options));
}
