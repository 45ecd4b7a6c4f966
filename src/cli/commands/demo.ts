// `longhaul demo`: the whole job on this machine, from a question and a folder to an approved, published report. Uses a running
// `longhaul dev`, or starts what it needs and stops it at the end; state stays. Without a terminal, or with --yes, it approves as
// `demo-approver` and says so.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import pc from 'picocolors';
import { v7 as uuidv7 } from 'uuid';
import type { LonghaulClient } from '../../client/client';
import { isOver } from '../../client/start';
import type { RunEvent } from '../../core/events';
import { workflowIdOf } from '../../messages';
import type { RunRow } from '../../core/row';
import { act } from '../act';
import { decideAtTerminal, questionAtTerminal } from '../demo-approval';
import { holdsText } from '../demo-folder';
import { runningDev } from '../dev/state';
import type { Supervised } from '../dev/supervisor';
import { codeOfRow, EXIT, EXIT_HELP, Stop } from '../exit';
import { waitsForPeople } from '../follow';
import { onLauncherGone } from '../launcher';
import { actorOf, portOf, reaching, type CommonOptions } from '../options';
import { waitLines } from '../page';
import { EXAMPLE, type Place } from '../place';
import { columnsOf, command, data, isTerminal, json, say } from '../print';
import { tellEvent } from '../tell';

interface DemoOptions extends CommonOptions { folder?: string; question?: string; crash?: boolean; yes?: boolean; runId?: string; port: string; uiPort: string }

const QUESTION = 'How large were refunds in Q3 and why did they rise?';
const APPROVER = { id: 'demo-approver', via: 'cli', assurance: 'local-user' } as const;

async function demo(place: Place, options: DemoOptions): Promise<number> {
  place.useExample();
  const { folder, question } = await askedOf(options);
  place.writable();
  const stop = new AbortController();
  let asked = false;
  /** The first signal stops in order, which may take until calls in flight have ended; a second INT or TERM at once. A reader or a terminal that is gone asks for nothing more. */
  const interrupt = (signal?: NodeJS.Signals): void => {
    if (asked && (signal === 'SIGINT' || signal === 'SIGTERM')) process.exit(130);
    asked ||= signal !== undefined;
    stop.abort();
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, interrupt);
  const deafen = onLauncherGone(() => stop.abort());
  const all = await serversOf(place, options);
  try {
    const client = await place.client({ mustExist: false });
    const runId = await begin(client, folder, question, options);
    const row = await conduct(place, client, runId, options, stop);
    await report(place, client, row, all, options);
    if (!stop.signal.aborted || isOver(row)) return codeOfRow(row);
    say(`Stopped while ${row.status}; nothing is lost. ${command('longhaul dev')} goes on with it.`);
    return EXIT.error;
  } finally {
    await place.close();
    await all.stop();
    deafen();
    for (const signal of signals) process.removeListener(signal, interrupt);
  }
}

/** The folder to report on and the question; both must be sound before anything starts. The sample's question suits no other folder. */
async function askedOf({ folder, question }: DemoOptions): Promise<{ folder: string; question: string }> {
  if (folder === undefined) return { folder: corpus(), question: question ?? QUESTION };
  const full = path.resolve(folder);
  if (!existsSync(full) || !statSync(full).isDirectory()) throw new Stop(EXIT.usage, `There is no folder ${full}: name one with --folder, or leave it out for the sample.`);
  if (!holdsText(full)) throw new Stop(EXIT.usage, `The folder ${full} holds no text that could be reported on (hidden files, links and secrets are not read): name another with --folder.`);
  const asked = question ?? (isTerminal() ? await questionAtTerminal() : undefined);
  if (!asked?.trim()) throw new Stop(EXIT.usage, `Say what to answer from ${full} with --question, e.g. --question "What did we promise, and to whom?"`);
  return { folder: full, question: asked };
}

/** The sample folder: beside the sources of the example, in the package's root. */
function corpus(): string {
  for (let at = __dirname; at !== path.dirname(at); at = path.dirname(at)) {
    const found = path.join(at, 'examples', 'folder-report', 'corpus');
    if (existsSync(found)) return found;
  }
  throw new Stop(EXIT.error, 'The sample folder examples/folder-report/corpus is missing from the package: name a folder with --folder.');
}

/** `own`: the server was started for this demo and stops with it. */
interface Servers extends Pick<Supervised, 'uiAddress' | 'stop'> { own: boolean }

/** A running dev of this folder, or everything started for this demo. */
async function serversOf(place: Place, options: DemoOptions): Promise<Servers> {
  const running = runningDev(place.stateDir);
  if (running) {
    if (!running.configFile?.startsWith(EXAMPLE)) throw new Stop(EXIT.error, `\`longhaul ${running.mode}\` serves ${running.configFile ?? 'another configuration'} for ${place.stateDir}: stop it, or name another folder with --state-dir.`);
    if (options.crash) throw new Stop(EXIT.error, `--crash kills a worker of its own, and \`longhaul ${running.mode}\` (process ${running.pid}) has one here: stop it, or name another folder with --state-dir.`);
    say(`Using the running \`longhaul ${running.mode}\` (process ${running.pid}).`);
    return { uiAddress: running.uiAddress, own: false, stop: async () => undefined };
  }
  say(`Starting server, publisher and worker for ${place.stateDir} ...`);
  const crashAt = { LONGHAUL_CRASH_AT: 'call:sent:publish' };
  const { supervise } = await import('../dev/supervisor');
  const all = await supervise(place, {
    mode: 'demo', say, usualPorts: { port: portOf('--port', options.port), uiPort: portOf('--ui-port', options.uiPort) },
    workerEnv: (start) => (options.crash && start === 1 ? crashAt : {}),
    lost: (how) => { if (options.crash) say(pc.yellow(`The worker was killed (${how}): the publisher has stored the report, and nobody here knows it yet.`)); },
  });
  if (all.uiAddress) say(`Web UI ${all.uiAddress}`);
  return { uiAddress: all.uiAddress, own: all.uiAddress !== null, stop: () => all.stop() };
}

async function begin(client: LonghaulClient, folder: string, question: string, options: DemoOptions): Promise<string> {
  const runId = options.runId ?? `demo-${uuidv7()}`;
  const answer = await client.start({ runId, agent: 'folder-report', input: { folder, question }, owner: actorOf({}), title: question.slice(0, 200) });
  if (answer.kind === 'refused' || answer.kind === 'other-input') throw new Stop(EXIT.usage, answer.why);
  say(`Run ${runId}: ${question}\n  folder ${folder}`);
  return runId;
}

/** Follows the run and has its approvals decided; answers its row at the end, or where only another command leads on. */
async function conduct(place: Place, client: LonghaulClient, runId: string, options: DemoOptions, stop: AbortController): Promise<RunRow> {
  const { signal } = stop;
  const asks = isTerminal() && options.yes !== true;
  const left = new Set<string>();
  let last = 0;
  for (;;) {
    for await (const event of client.watch(runId, { after: last, signal, idle: waitsForPeople })) {
      last = event.seq;
      say(tellEvent(event, columnsOf(process.stderr)));
    }
    const { row } = await client.show(runId);
    if (signal.aborted || isOver(row)) return row;
    if (!waitsForPeople(row)) continue;
    const approval = row.waits.find((wait) => wait.kind === 'approval' && !left.has(wait.waitId));
    if (!approval) return row;
    say(waitLines(approval).join('\n'));
    if (asks) {
      if (!(await decideAtTerminal(place, client, runId, approval.waitId, stop))) left.add(approval.waitId);
    } else {
      const why = options.yes ? '--yes was given' : 'there is no terminal to ask at';
      say(pc.cyan(`${APPROVER.id} (this demo itself, since ${why}) approves ${approval.waitId}.`));
      const delivery = await client.message(runId, { kind: 'approve', approvalId: approval.waitId }, { actor: APPROVER, messageId: `demo-${approval.waitId}` });
      // A message that Temporal keeps counts once a worker runs; the next round asks again under the same id.
      if (!delivery.known && delivery.state !== 'kept') throw new Stop(EXIT.error, delivery.why);
    }
  }
}

/** Ends with what was asked for: the report's path, the run, the Web UI, the publications. */
async function report(place: Place, client: LonghaulClient, row: RunRow, { uiAddress, own }: Servers, options: DemoOptions): Promise<void> {
  const events: RunEvent[] = [];
  for await (const event of client.events(row.runId)) events.push(event);
  const file = await reportFile(place, events, row.runId);
  const keys = new Set(events.flatMap((event) => (event.type === 'ToolCallRequested' && event.data.tool === 'publish' ? [event.data.key] : [])));
  const publications = publicationsOf(place.stateDir).filter((one) => keys.has(one.key));
  const workflow = uiAddress && `${uiAddress}/namespaces/default/workflows/${encodeURIComponent(workflowIdOf(row.runId))}`;
  const recovery = events.filter((event) => event.type === 'RecoveryChecked' || event.type === 'ToolCallUnknown' || (event.type === 'ToolCallSucceeded' && event.data.via !== 'sent'));
  if (options.json) {
    json({ runId: row.runId, status: row.status, outcome: row.outcome, report: file, webUi: workflow, publications: publications.length, recovery: recovery.map(({ seq, type }) => ({ seq, type })), stateDir: place.stateDir });
    return;
  }
  if (recovery.length > 0) say([pc.bold('Recovery:'), ...recovery.map((event) => tellEvent(event, columnsOf(process.stderr)))].join('\n'));
  say(`The run is ${pc.bold(row.status)}${row.outcome ? ` (${row.outcome})` : ''}: ${row.detail}`);
  for (const wait of row.waits) say(waitLines(wait).join('\n'));
  data(`Report        ${file ?? 'none was written'}`);
  data(`Publications  ${publications.length} in the publisher's log for this run`);
  data(`Run           ${row.runId}`);
  if (workflow) data(`Web UI        ${workflow}${own ? `  (stopped with this demo; it runs again with ${command('longhaul dev')})` : ''}`);
  ['runs show', 'runs events', 'replay'].forEach((words, i) => say(`${i === 0 ? 'Look further' : '            '}  ${command(`longhaul ${words} ${row.runId}`)}`));
}

/** Path of the newest report; written from its artifact where the tool has kept no file. */
async function reportFile(place: Place, events: RunEvent[], runId: string): Promise<string | null> {
  const folder = path.join(place.stateDir, 'reports', runId);
  const kept = existsSync(folder) ? readdirSync(folder).filter((name) => /^report-v\d+\.md$/.test(name)) : [];
  const newest = kept.sort((a, b) => Number(/\d+/.exec(a)?.[0]) - Number(/\d+/.exec(b)?.[0])).at(-1);
  if (newest) return path.join(folder, newest);
  const made = events.filter((event) => event.type === 'ArtifactProduced').map((event) => event.data.ref).filter((ref) => ref.name === 'report.md').at(-1);
  if (!made) return null;
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, 'report.md');
  writeFileSync(file, await (await place.stores()).artifacts.read(made.sha256));
  return file;
}

function publicationsOf(stateDir: string): { key: string }[] {
  const log = path.join(stateDir, 'publisher', 'log.jsonl');
  if (!existsSync(log)) return [];
  return readFileSync(log, 'utf8').split('\n').filter(Boolean).map((text) => JSON.parse(text) as { kind: string; key: string }).filter((one) => one.kind === 'publication');
}

/** Adds `demo`. */
export function addDemo(program: Command): void {
  reaching(program.command('demo').description('from a question and a folder to an approved, published report, on this machine'))
    .option('--folder <dir>', 'folder to report on (default: the sample)').option('--question <text>', 'what to answer; needed with --folder')
    .option('--crash', 'kill the worker after the publisher has stored the report and before the result is known')
    .option('--yes', 'approve as demo-approver without asking').option('--run-id <id>', 'id of the run')
    .option('--port <n>', 'port of the server where none is kept yet; 0 for any free one', '7233')
    .option('--ui-port <n>', 'port of the Web UI where none is kept yet; 0 for any free one', '8233')
    .addHelpText('after', `\n${EXIT_HELP}`)
    .action(act(demo, ([options]) => options));
}
