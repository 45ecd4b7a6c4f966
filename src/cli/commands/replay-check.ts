// `longhaul replay-check`: replays histories of runs through the workflow code of this build (or another's bundle), before it is
// deployed: files as Temporal's tools write them, and with --open the open runs of a server. A change of order is told by run, event
// and plain words. Reads only; the runs of the server go on untouched.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { eventsIn, ownerOf, readHistory, type History } from '../../adapters/temporal/history-file';
import type { NamedHistory, ReplayVerdict, WorkflowCode } from '../../adapters/temporal/replay-histories';
import { runIdOf, WORKFLOW_TYPE } from '../../messages';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { reaching, type CommonOptions } from '../options';
import type { Place } from '../place';
import { count, data, json, say } from '../print';

interface CheckOptions extends CommonOptions { open?: boolean; bundle?: string }

async function check(place: Place, paths: string[], options: CheckOptions): Promise<number> {
  if (paths.length === 0 && !options.open) throw new Stop(EXIT.usage, 'Name history files or folders of them, or say --open for the open runs of a server, e.g. `npx longhaul replay-check --open`.');
  const files = paths.flatMap(historyFiles);
  const { installLogger } = await import('../../adapters/logging/logger');
  installLogger({ level: 'silent' });
  const { replayHistories } = await import('../../adapters/temporal/replay-histories');
  const verdicts: ReplayVerdict[] = [];
  const { on, dataConverter } = await place.encryption();
  for await (const verdict of replayHistories({ ...await codeOf(options, on), dataConverter }, all(place, files, options))) {
    verdicts.push(verdict);
    tell(verdict, options);
  }
  const failed = verdicts.filter(({ ok }) => !ok).length;
  if (failed > 0) say('Runs like these must end on the build that they began with: keep a worker of it, and deploy this one as a version of its own (`npx longhaul worker --deployment`). Who works on the conductor guards the change with a patch (src/workflows/patches.ts).');
  if (!options.json) data(`${verdicts.length - failed} passed, ${failed} failed`);
  return failed > 0 ? EXIT.error : EXIT.done;
}

async function* all(place: Place, files: string[], { open }: CheckOptions): AsyncGenerator<NamedHistory> {
  for (const file of files) {
    const history = readHistory(file);
    const { workflowId, executionId } = ownerOf(history);
    yield { name: file, workflowId: workflowId ?? path.basename(file, '.json'), executionId, history };
  }
  if (open) yield* openRuns(place);
}

async function* openRuns(place: Place): AsyncGenerator<NamedHistory> {
  const { Client } = await import('@temporalio/client');
  const { connection, at } = await place.connection();
  const { dataConverter } = await place.encryption();
  const client = new Client({ connection, namespace: at.namespace, dataConverter });
  let found = 0;
  for await (const { workflowId, runId } of client.workflow.list({ query: `WorkflowType = "${WORKFLOW_TYPE}" AND ExecutionStatus = "Running"` })) {
    found += 1;
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory() as unknown as History;
    yield { name: `${at.address} ${runId}`, workflowId, executionId: runId, history };
  }
  if (found === 0) say(`No run is open at ${at.address} (namespace ${at.namespace}).`);
}

function tell(verdict: ReplayVerdict, options: CheckOptions): void {
  const { workflowId, name, events, ok, fault } = verdict;
  const run = runIdOf(workflowId);
  if (options.json) return json({ runId: run, ...verdict });
  if (ok) return data(`ok    ${run}: ${count(events, 'event')} (${name})`);
  data(`FAIL  ${run}: ${fault?.eventId == null ? '' : `event ${fault.eventId}: `}${fault?.why ?? ''} (${name})\n      Temporal says: ${fault?.said ?? ''}`);
}

async function codeOf({ bundle }: CheckOptions, encrypted: boolean): Promise<WorkflowCode> {
  if (bundle === undefined) return (await import('../../worker')).workflowCode(encrypted);
  if (!existsSync(bundle)) throw new Stop(EXIT.usage, `--bundle: there is no file ${bundle}; name the dist/workflow-bundle.js of the build to check.`);
  return { workflowBundle: { codePath: path.resolve(bundle) } };
}

/** A file, or every history below a folder, in the order of their names. */
function historyFiles(where: string): string[] {
  if (!existsSync(where)) throw new Stop(EXIT.usage, `There is neither a file nor a folder ${where}.`);
  if (statSync(where).isFile()) return [where];
  const found = readdirSync(where, { recursive: true }).map((file) => path.join(where, String(file))).filter((file) => file.endsWith('.json') && isHistory(file)).sort();
  if (found.length === 0) throw new Stop(EXIT.error, `${where} holds no history: save one with \`temporal workflow show -w ID --output json\`.`);
  return found;
}

function isHistory(file: string): boolean {
  try {
    return eventsIn(JSON.parse(readFileSync(file, 'utf8'))) !== null;
  } catch {
    return false;
  }
}

/** Adds `replay-check`. */
export function addReplayCheck(program: Command): void {
  reaching(program.command('replay-check').argument('[paths...]').description('replay histories through the workflow code of this build, before it is deployed; exit 1 names run and event where the order has changed'))
    .option('--open', 'the open runs of the server')
    .option('--bundle <file>', 'the workflow bundle of another build, in place of this one\'s')
    .action(act(check, ([, options]) => options, { anyConfig: true }));
}
