// Asks the person at the terminal: what the demo shall answer, and to decide one approval, showing what would change. Prompts stand on stderr's terminal and are
// loaded only here. Ctrl-C at the prompt decides nothing.
import type { LonghaulClient } from '../client/client';
import { EXIT, Stop } from './exit';
import { openKeyboard, type Keyboard } from './keyboard';
import { actorOf } from './options';
import type { Place } from './place';
import { command, count, say } from './print';

/** Lines of the preview that are shown; the rest is one command away. */
const PREVIEW_LINES = 60;

/** What is decided; null for later. */
type Decision = { kind: 'approve'; approvalId: string } | { kind: 'reject'; approvalId: string; reason: string } | null;

/** Shows the preview, asks, sends the decision. Answers whether a decision was sent. `stop` is told when the terminal is gone. */
export async function decideAtTerminal(place: Place, client: LonghaulClient, runId: string, approvalId: string, stop: AbortController): Promise<boolean> {
  const { state } = await client.show(runId);
  const preview = state.approvals[approvalId]?.previewRef;
  if (preview) showPreview(new TextDecoder().decode(await (await place.stores()).artifacts.read(preview.sha256)), approvalId);
  const keyboard = openKeyboard(() => stop.abort());
  const body = await asked(approvalId, { input: keyboard.input, output: process.stderr, signal: stop.signal }).finally(() => keyboard.close());
  if (body === null) {
    say(`Not decided. Later: ${command(`longhaul approvals approve ${approvalId}`)} while ${command('longhaul dev')} runs.`);
    return false;
  }
  const delivery = await client.message(runId, body, { actor: actorOf({}) });
  if (!delivery.known) throw new Stop(EXIT.error, delivery.why);
  say(delivery.answer.text);
  return true;
}

async function asked(approvalId: string, at: { input: Keyboard['input']; output: NodeJS.WriteStream; signal: AbortSignal }): Promise<Decision> {
  const prompts = await import('@clack/prompts');
  const choice = await prompts.select({
    message: `Publish this? (${approvalId})`, ...at,
    options: [{ value: 'approve', label: 'approve' }, { value: 'reject', label: 'reject' }, { value: 'later', label: 'decide later' }],
  });
  if (prompts.isCancel(choice) || choice === 'later') return null;
  if (choice === 'approve') return { kind: 'approve', approvalId };
  const reason = await prompts.text({ message: 'Why? (the planner reads it)', ...at, defaultValue: '' });
  return prompts.isCancel(reason) ? null : { kind: 'reject', approvalId, reason: reason ?? '' };
}

/** Asks what the demo shall answer; undefined when the person would rather not. */
export async function questionAtTerminal(): Promise<string | undefined> {
  const prompts = await import('@clack/prompts');
  const question = await prompts.text({ message: 'What shall be answered from this folder?', output: process.stderr });
  return prompts.isCancel(question) ? undefined : question;
}

function showPreview(text: string, approvalId: string): void {
  const lines = text.split('\n');
  say(lines.slice(0, PREVIEW_LINES).join('\n'));
  if (lines.length > PREVIEW_LINES) say(`... ${count(lines.length - PREVIEW_LINES, 'more line')}: ${command(`longhaul approvals show ${approvalId}`)}`);
}
