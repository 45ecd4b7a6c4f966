// `longhaul doctor [--fix]`: looks at everything that a run needs here and says, for each thing that is wrong, what to do next.
// Exit 1 when something needs a person: that nothing runs while no run is open is worth a note and no more.
// Changes nothing without --fix, and with it only what is missing at the server.
import { existsSync, rmdirSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import pc from 'picocolors';
import { act } from '../act';
import { runningDev } from '../dev/state';
import { claims } from '../doctor/claims';
import { ok, wrong, type Check, type Finding } from '../doctor/findings';
import { keys, payloadKeys } from '../doctor/keys';
import { artifacts, executions, openRuns, tools } from '../doctor/runs';
import { deployments, versions } from '../doctor/versions';
import { workersCheck } from '../doctor/workers';
import { EXIT, Stop } from '../exit';
import { firstRuns } from '../next';
import { reaching, type CommonOptions } from '../options';
import type { Place } from '../place';
import { data, json, line } from '../print';

const folder: Check = async (place) => {
  const made = place.writable();
  if (made === undefined) return ok('state folder', place.stateDir);
  unmake(place.stateDir, made);
  const first = await firstRun(place);
  const next = first === 'npx longhaul demo' ? first : ['npx longhaul dev', ...(first === undefined ? [] : [first])].join(', then ');
  return [{ what: 'state folder', state: 'note', detail: `${place.stateDir} is not there yet; the first start makes it`, next }];
};

/** What begins work here; undefined when the configuration cannot tell. */
async function firstRun(place: Place): Promise<string | undefined> {
  const [first] = await firstRuns(place).catch(() => []);
  return first && `npx ${first}`;
}

/** Takes back the folders that the look has made, as long as they are empty. */
function unmake(stateDir: string, made: string): void {
  try {
    for (let at = stateDir; ; at = path.dirname(at)) {
      rmdirSync(at);
      if (at === made) return;
    }
  } catch {
    // Another process has begun to use it.
  }
}

/** Does nothing run here and nothing wait either? */
async function idle(place: Place): Promise<boolean> {
  return runningDev(place.stateDir) === null && (await openRuns(place)).length === 0;
}

const stores: Check = async (place) => {
  const { database, artifacts } = await place.storesAt();
  if (database === undefined && !existsSync(place.stateDir)) return [];
  const { journal, ledger } = await place.stores({ mustExist: false });
  const newest = await journal.list({ limit: 1 });
  await ledger.incarnation();
  const found = ok('stores', `journal and ledger${database === undefined ? '' : ' in the database'} can be read and written; last run ${newest[0]?.runId ?? 'none'}`);
  if (database === undefined || artifacts !== undefined) return found;
  return [...found, { what: 'artifacts', state: 'note', detail: `the database is for many hosts, but artifacts are kept in ${place.stateDir} on this one`, next: 'export LONGHAUL_ARTIFACTS=s3://BUCKET/PREFIX, or the path of a folder that all hosts share' }];
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

const secrets: Check = async (place) => {
  const { config: read } = await place.config();
  const { notes } = await place.secrets();
  const named = Object.keys(read.secrets ?? {});
  if (notes.length > 0) return notes.map((detail): Finding => ({ what: 'secrets', state: 'note', detail, next: 'set it where the worker runs, and restart the worker' }));
  return ok('secrets', named.length === 0 ? 'the configuration names none' : `${named.join(', ')}: all set here`);
};

const server: Check = async (place) => {
  const found = await place.connection().catch(async (error: unknown) => {
    if (error instanceof Stop && await idle(place)) return null;
    throw error;
  });
  if (found === null) return [{ what: 'Temporal server', state: 'note', detail: 'none runs here, and no run waits for one', next: 'npx longhaul dev' }];
  const { at } = found;
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

const services: Check = async (place) => {
  const { config: read } = await place.config();
  const [{ serviceResolver }, { openingRefusal }] = [await import('../../adapters/config/resolve'), await import('../../adapters/temporal/probe')];
  process.env.LONGHAUL_STATE_DIR ??= place.stateDir;
  const resolve = serviceResolver(read, place.stateDir);
  const quiet = await idle(place);
  const found = await Promise.all(Object.entries(read.services ?? {}).map(async ([name, service]): Promise<Finding[]> => {
    const ours = typeof service === 'object' && 'command' in service;
    const away = (detail: string): Finding[] => ours && quiet
      ? [{ what: `service ${name}`, state: 'note', detail: 'it does not run, and no run waits for it', next: 'npx longhaul dev starts it' }]
      : wrong(`service ${name}`, detail, ours ? 'npx longhaul dev starts it' : 'start it, or mend its address in the configuration');
    try {
      const url = new URL(resolve(name));
      if (url.protocol === 'file:') return ok(`service ${name}`, url.href);
      const why = await openingRefusal(`${url.hostname}:${url.port || (url.protocol === 'https:' ? 443 : 80)}`, 2_000, false);
      return why ? away(`${url.href}: ${why}`) : ok(`service ${name}`, url.href);
    } catch (error) {
      return away(error instanceof Error ? error.message : String(error));
    }
  }));
  return found.flat();
};

/** What is wrong with open runs, or that nothing is. */
const runs: Check = async (place, fix) => {
  if (!existsSync(place.stateDir) && !await place.hasStores()) return [];
  const found = await executions(place, fix);
  if (found.length > 0) return found;
  const open = (await openRuns(place)).length;
  return open > 0 ? ok('runs', `${open} open, each with a running execution`) : [{ what: 'runs', state: 'ok', detail: 'none is open', next: await firstRun(place) }];
};

/** `needs`: checks without which this one would only say the same again. */
const CHECKS: { what: string; check: Check; next: string; needs?: string[] }[] = [
  { what: 'state folder', check: folder, next: 'npx longhaul doctor --state-dir DIR' },
  { what: 'stores', check: stores, next: 'do what the sentence says; nothing was changed', needs: ['state folder'] },
  { what: 'configuration', check: config, next: 'mend the file, or name another with --config' },
  { what: 'model', check: model, next: 'set a model', needs: ['configuration'] },
  { what: 'secrets', check: secrets, next: 'do what the sentence says, and restart the worker', needs: ['configuration'] },
  { what: 'decision keys', check: keys, next: 'do what the sentence says', needs: ['state folder'] },
  { what: 'payload keys', check: payloadKeys, next: 'npx longhaul keys list', needs: ['state folder'] },
  { what: 'Temporal server', check: server, next: 'npx longhaul dev' },
  { what: 'search attributes', check: attributes, next: 'npx longhaul doctor --fix', needs: ['Temporal server'] },
  { what: 'worker', check: workersCheck(idle), next: 'npx longhaul dev', needs: ['Temporal server'] },
  { what: 'services', check: services, next: 'npx longhaul dev', needs: ['configuration'] },
  { what: 'runs', check: runs, next: 'npx longhaul runs list', needs: ['Temporal server', 'state folder'] },
  { what: 'versions', check: versions, next: 'npx longhaul migrate --dry-run', needs: ['state folder', 'stores', 'configuration'] },
  { what: 'deployments', check: deployments, next: 'npx longhaul temporal worker deployment list', needs: ['Temporal server', 'state folder'] },
  { what: 'claims', check: claims, next: 'npx longhaul runs list', needs: ['state folder', 'stores'] },
  { what: 'tools', check: tools, next: 'mend the configuration', needs: ['state folder', 'stores', 'configuration'] },
  { what: 'artifacts', check: artifacts, next: 'npx longhaul artifacts list RUN', needs: ['state folder', 'stores'] },
];

/** The next step after an error: a package that a configuration imports and nobody has installed is named. */
function nextOf(message: string, next: string): string {
  const missing = /Cannot find (?:module|package) '([^'./][^']*)'/.exec(message)?.[1];
  if (missing === undefined) return next;
  return missing === 'zod' ? "npm i zod beside the configuration, or import { z } from 'longhaul'" : `npm i ${missing} beside the configuration`;
}

async function doctor(place: Place, options: CommonOptions & { fix?: boolean }): Promise<number> {
  const lacking = new Set<string>();
  let bad = 0;
  for (const { what, check, next, needs = [] } of CHECKS) {
    if (needs.some((one) => lacking.has(one))) continue;
    const found = await check(place, options.fix === true).catch((error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      return wrong(what, line(message.split('\n')[0] ?? '', 500), nextOf(message, next));
    });
    if (found.some((one) => one.state === 'wrong' || (one.state === 'note' && what === 'Temporal server'))) lacking.add(what);
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
    .action(act(doctor, ([options]) => options, { anyConfig: true }));
}
