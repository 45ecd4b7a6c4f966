// `longhaul doctor [--fix]`: looks at everything that a run needs here and says, for each thing that is wrong, what to do next.
// Exit 1 when something needs a person. Changes nothing without --fix, and with it only what is missing at the server.
import { accessSync, constants, existsSync } from 'node:fs';
import type { Command } from 'commander';
import pc from 'picocolors';
import { act } from '../act';
import { EXIT } from '../exit';
import { isOver } from '../../client/start';
import { workflowIdOf } from '../../messages';
import { reaching, type CommonOptions } from '../options';
import type { Place } from '../place';
import { data, json, line } from '../print';
import { pollingWorkers } from '../workers';

interface Finding { what: string; state: 'ok' | 'note' | 'wrong'; detail: string; next?: string }

type Check = (place: Place, fix: boolean) => Promise<Finding[]>;

const ok = (what: string, detail: string): Finding[] => [{ what, state: 'ok', detail }];
const wrong = (what: string, detail: string, next: string): Finding[] => [{ what, state: 'wrong', detail, next }];

const folder: Check = async (place) => {
  if (!existsSync(place.stateDir)) return [{ what: 'state folder', state: 'note', detail: `${place.stateDir} is not there yet; the first start makes it`, next: 'npx longhaul demo' }];
  accessSync(place.stateDir, constants.R_OK | constants.W_OK);
  return ok('state folder', place.stateDir);
};

const stores: Check = async (place) => {
  if (!existsSync(place.stateDir)) return [];
  const { journal, ledger } = await place.stores({ mustExist: false });
  const newest = await journal.list({ limit: 1 });
  const open = await ledger.open();
  return ok('stores', `journal and ledger can be read and written; last run ${newest[0]?.runId ?? 'none'}; ${open.length} open claim${open.length === 1 ? '' : 's'}`);
};

const config: Check = async (place) => {
  const { config: read, file } = await place.config();
  return ok('configuration', `${file}: agents ${read.agents.map((agent) => agent.name).join(', ')}`);
};

const model: Check = async (place) => {
  const { config: read } = await place.config();
  const ids = new Set(read.agents.filter((agent) => agent.planner === 'model' || agent.model !== undefined).map((agent) => agent.model));
  if (ids.size === 0) return ok('model', 'no agent of this configuration plans by a model');
  const { modelById, modelFromEnv } = await import('../../adapters/models/from-env');
  return [...ids].flatMap((id): Finding[] => {
    const found = id === undefined ? modelFromEnv(process.env) : modelById(id, process.env);
    if ('missing' in found) return [{ what: 'model', state: 'note', detail: found.missing, next: 'export OPENAI_API_KEY=... and restart the worker' }];
    if (found.note !== undefined) return [{ what: 'model', state: 'note', detail: found.note, next: 'export LONGHAUL_MODEL_PRICE=3,15 (with its real price) and restart the worker' }];
    return ok('model', `${found.id}; the key itself shows at the first call`);
  });
};

const server: Check = async (place) => {
  const { at } = await place.connection();
  return ok('Temporal server', `${at.address}, namespace ${at.namespace} (${at.from === 'dev' ? 'the development server of this folder' : 'named by the environment or --address'})`);
};

const attributes: Check = async (place, fix) => {
  const { connection, at } = await place.connection();
  const { addMissingSearchAttributes, checkSearchAttributes } = await import('../../adapters/temporal/search-attributes');
  if (fix) await addMissingSearchAttributes(connection, at.namespace);
  const { missing, differing } = await checkSearchAttributes(connection, at.namespace);
  if (differing.length > 0) return wrong('search attributes', `of another type at the server: ${differing.map(({ name }) => name).join(', ')}`, 'use another namespace, or remove them with npx longhaul temporal operator search-attribute remove');
  if (missing.length > 0) return wrong('search attributes', `not registered: ${missing.map(({ name }) => name).join(', ')}`, 'npx longhaul doctor --fix, then restart the workers');
  return ok('search attributes', 'all registered');
};

const workers: Check = async (place) => {
  const found = await pollingWorkers(place);
  if (found.length === 0) return wrong('worker', 'none polls the queue, so runs wait', 'npx longhaul dev, or npx longhaul worker');
  return ok('worker', found.join(', '));
};

const services: Check = async (place) => {
  const { config: read } = await place.config();
  const [{ serviceResolver }, { openingRefusal }] = [await import('../../adapters/config/resolve'), await import('../../adapters/temporal/probe')];
  process.env.LONGHAUL_STATE_DIR ??= place.stateDir;
  const resolve = serviceResolver(read, place.stateDir);
  const found = await Promise.all(Object.keys(read.services ?? {}).map(async (name): Promise<Finding[]> => {
    try {
      const url = new URL(resolve(name));
      if (url.protocol === 'file:') return ok(`service ${name}`, url.href);
      const why = await openingRefusal(`${url.hostname}:${url.port || (url.protocol === 'https:' ? 443 : 80)}`, 2_000, false);
      return why ? wrong(`service ${name}`, `${url.href}: ${why}`, 'npx longhaul dev starts it') : ok(`service ${name}`, url.href);
    } catch (error) {
      return wrong(`service ${name}`, error instanceof Error ? error.message : String(error), 'npx longhaul dev starts it');
    }
  }));
  return found.flat();
};

/** Open runs that Temporal does not run, and runs that stand still until a person does something. */
const runs: Check = async (place) => {
  if (!existsSync(place.stateDir)) return [];
  const client = await place.client({ mustExist: false });
  const { connection, at } = await place.connection();
  const { Client } = await import('@temporalio/client');
  const temporal = new Client({ connection, namespace: at.namespace });
  const open = (await client.list({ limit: 200 })).filter((row) => !isOver(row));
  const found: Finding[] = [];
  for (const row of open.slice(0, 50)) {
    const status = await temporal.workflow.getHandle(workflowIdOf(row.runId)).describe().then((seen) => seen.status.name, () => 'NOT FOUND');
    if (status !== 'RUNNING') found.push(...wrong(`run ${row.runId}`, `it is ${row.status}, and its execution is ${status}`, `npx longhaul runs restore ${row.runId}`));
    else for (const wait of row.waits.filter(({ kind }) => kind === 'blocked' || kind === 'budget' || kind === 'decision')) found.push(...wrong(`run ${row.runId}`, `${row.status}: ${line(wait.what, 120)}`, `npx ${wait.command}`));
  }
  return found.length > 0 ? found : ok('runs', `${open.length} open, each with a running execution`);
};

const CHECKS: { what: string; check: Check; next: string; server?: boolean }[] = [
  { what: 'state folder', check: folder, next: 'mend its permissions, or name another with --state-dir' },
  { what: 'stores', check: stores, next: 'do what the sentence says; nothing was changed' },
  { what: 'configuration', check: config, next: 'mend the file' },
  { what: 'model', check: model, next: 'set a model' },
  { what: 'Temporal server', check: server, next: 'npx longhaul dev' },
  { what: 'search attributes', check: attributes, next: 'npx longhaul doctor --fix', server: true },
  { what: 'worker', check: workers, next: 'npx longhaul dev', server: true },
  { what: 'services', check: services, next: 'npx longhaul dev' },
  { what: 'runs', check: runs, next: 'npx longhaul runs list', server: true },
];

async function doctor(place: Place, options: CommonOptions & { fix?: boolean }): Promise<number> {
  let reachable = true;
  let bad = 0;
  for (const { what, check, next, server: needsServer } of CHECKS) {
    if (needsServer && !reachable) continue;
    const found = await check(place, options.fix === true).catch((error: unknown) => wrong(what, error instanceof Error ? error.message : String(error), next));
    if (what === 'Temporal server') reachable = found.every((one) => one.state === 'ok');
    bad += found.filter((one) => one.state === 'wrong').length;
    for (const one of found) tell(one, options);
  }
  return bad === 0 ? EXIT.done : EXIT.error;
}

const SIGNS = { ok: pc.green('ok   '), note: pc.cyan('note '), wrong: pc.yellow('wrong') };

function tell(finding: Finding, options: CommonOptions): void {
  if (options.json) return json(finding);
  data(`${SIGNS[finding.state]} ${finding.what}: ${finding.detail}${finding.next ? `\n      next: ${finding.next}` : ''}`);
}

/** Adds `doctor`. */
export function addDoctor(program: Command): void {
  reaching(program.command('doctor').description('check server, search attributes, worker, stores, services, model and runs; each with the next command'))
    .option('--fix', 'register search attributes that the server lacks')
    .action(act(doctor, ([options]) => options));
}
