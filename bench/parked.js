// Parks many runs on an approval each, and shows that waiting costs nothing: no activity runs, the worker's memory stays where it
// was, the inbox answers at once. Then approves them all; each effect must be there once. The worker is a process of its own.
// Needs a build (`npm run build`).
//   node bench/parked.js [RUNS]     default 1000; exits 1 when something does not hold
const { fork } = require('node:child_process');
const { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');

const dist = path.join(__dirname, '..', 'dist', 'src');
const { createClient, defineAgent, defineConfig, defineTool, openStores, z } = require(path.join(dist, 'index.js'));

const QUEUE = 'parked';
/** ms for which all runs are left alone while the worker's memory is watched. */
const QUIET_MS = 30_000;
/** MB by which the worker may seem to grow while nothing happens. */
const FLAT_MB = 32;

const configOf = (effects) => defineConfig({
  agents: [defineAgent({ name: 'parked', version: '1.0.0', planner: 'declared' })],
  tools: [defineTool({
    name: 'write', version: '1.0.0', description: 'writes a line', effect: 'manual', honoursKey: true, input: z.object({ n: z.number() }),
    execute: async ({ n }, call) => { appendFileSync(effects, `${call.key}\n`); return { n }; },
  })],
});

/** The worker's process: runs until it is told to stop, and says its memory when asked. */
async function work({ stateDir, address, effects }) {
  const { startWorker } = require(path.join(dist, 'worker.js'));
  const worker = await startWorker({ config: configOf(effects), stateDir, connection: { address }, taskQueue: QUEUE, logLevel: 'error' });
  const running = worker.run();
  let stopping = false;
  const stop = () => {
    if (!stopping) worker.shutdown();
    stopping = true;
  };
  process.on('message', (word) => {
    if (word === 'stop') stop();
    else { global.gc?.(); process.send({ mb: Math.round(process.memoryUsage().rss / 1_048_576) }); }
  });
  process.once('disconnect', stop);
  process.send('ready');
  await running;
  if (process.connected) process.disconnect();
}

const next = (child) => new Promise((resolve) => { child.once('message', resolve); });
async function memoryOf(child) {
  const said = next(child);
  child.send('memory');
  return (await said).mb;
}

/** Runs `act` for 0 to count - 1, `width` at a time. */
async function each(count, width, act) {
  let n = 0;
  await Promise.all(Array.from({ length: width }, async () => { while (n < count) await act(n++); }));
}

async function until(what, ask, ms) {
  for (const end = Date.now() + ms; Date.now() < end; await pause(500)) {
    const found = await ask();
    if (found) return found;
  }
  throw new Error(`waited ${Math.round(ms / 1000)} s in vain: ${what}`);
}

const seconds = (from) => ((Date.now() - from) / 1000).toFixed(1);
const say = (text) => process.stdout.write(`${text}\n`);
const stopped = new Promise((_, reject) => { process.once('SIGINT', () => reject(new Error('Stopped.'))); });
const owner = { id: 'bench', via: 'client', assurance: 'local-user' };
const plan = { goal: 'Write after an approval', steps: [{ id: 'w', title: 'Write', action: { type: 'tool', tool: 'write', args: { n: 1 } } }] };

/** Starts all runs and waits until each asks; answers the open waits. */
async function park(client, worker, runs) {
  const began = Date.now();
  let started = 0;
  await each(runs, 8, async (n) => {
    await client.start({ runId: `parked-${n}`, agent: 'parked', plan, owner });
    started += 1;
    if (started % Math.ceil(runs / 5) === 0) say(`  ${started} started after ${seconds(began)} s, worker ${await memoryOf(worker)} MB`);
  });
  const open = await until('every run asks', async () => {
    const found = await client.inbox();
    return found.length === runs && found;
  }, 60_000 + runs * 500);
  say(`${runs} runs wait after ${seconds(began)} s`);
  return open;
}

/** All runs are left alone: what runs meanwhile, and what the worker holds. */
async function watchQuiet(client, temporal, worker, runs) {
  const before = await memoryOf(worker);
  await pause(QUIET_MS);
  const after = await memoryOf(worker);
  let activities = 0;
  let longest = 0;
  await each(runs, 8, async (n) => {
    const { raw, historyLength } = await temporal.workflow.getHandle(`run/parked-${n}`).describe();
    activities += raw.pendingActivities?.length ?? 0;
    longest = Math.max(longest, historyLength);
  });
  const asked = Date.now();
  await client.inbox();
  say(`quiet for ${QUIET_MS / 1000} s: ${activities} activities under way, worker ${before} MB and then ${after} MB, longest history ${longest} events, inbox of ${runs} in ${Date.now() - asked} ms`);
  return [...(activities > 0 ? [`${activities} activities ran while everything waited`] : []), ...(after - before > FLAT_MB ? [`the worker grew by ${after - before} MB`] : [])];
}

/** Approves everything; answers what went wrong. */
async function decide(client, worker, open, effects) {
  const began = Date.now();
  const heard = {};
  let done = 0;
  await each(open.length, 16, async (n) => {
    const { run, wait } = open[n];
    const delivery = await client.message(run.runId, { kind: 'approve', approvalId: wait.waitId }, { actor: owner, messageId: `approve-${wait.waitId}` });
    const kind = delivery.known ? delivery.answer.kind : delivery.state;
    heard[kind] = (heard[kind] ?? 0) + 1;
    done += 1;
    if (done % Math.ceil(open.length / 5) === 0) say(`  ${done} approved after ${seconds(began)} s, worker ${await memoryOf(worker)} MB`);
  });
  const statuses = async (status) => (await client.list({ status: [status], limit: open.length + 1 })).length;
  await until('every run is completed', async () => (await statuses('completed')) === open.length, 60_000 + open.length * 500);
  const keys = existsSync(effects) ? readFileSync(effects, 'utf8').split('\n').filter(Boolean) : [];
  const once = new Set(keys).size;
  say(`all completed after ${seconds(began)} s: answers ${JSON.stringify(heard)}, effects ${keys.length}, each once ${keys.length === once}, worker ${await memoryOf(worker)} MB`);
  return keys.length === open.length && once === open.length ? [] : [`${open.length} effects were due, ${keys.length} came, under ${once} keys`];
}

async function main(runs) {
  const { Client, Connection } = require('@temporalio/client');
  const { findTemporal } = require(path.join(dist, 'adapters/temporal/find-binary.js'));
  const { startDevServer } = require(path.join(dist, 'adapters/temporal/dev-server.js'));
  const stateDir = mkdtempSync(path.join(os.tmpdir(), 'longhaul-parked-'));
  const effects = path.join(stateDir, 'effects');
  const server = await startDevServer({ stateDir, binary: (await findTemporal({ stateDir })).path, usualPorts: { port: 0, uiPort: 0 } });
  const worker = fork(__filename, ['--worker', JSON.stringify({ stateDir, address: server.address, effects })], { execArgv: ['--expose-gc'] });
  const stores = await openStores({ stateDir });
  const connection = await Connection.connect({ address: server.address });
  try {
    await next(worker);
    const client = createClient({ stores, connection, taskQueue: QUEUE });
    say(`${runs} runs, worker ${await memoryOf(worker)} MB before any`);
    const measured = (async () => {
      const open = await park(client, worker, runs);
      return [...await watchQuiet(client, new Client({ connection }), worker, runs), ...await decide(client, worker, open, effects)];
    })();
    const faults = await Promise.race([measured, stopped]);
    for (const fault of faults) process.stderr.write(`${fault}\n`);
    process.exitCode = faults.length > 0 ? 1 : 0;
  } finally {
    const ended = new Promise((resolve) => { worker.once('exit', resolve); });
    if (worker.connected) worker.send('stop');
    else worker.kill();
    await ended;
    await connection.close();
    await stores.close();
    await server.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

const [first, settings] = process.argv.slice(2);
const runs = Number(first ?? 1000);
if (first === '--worker') work(JSON.parse(settings)).catch((error) => { console.error(error); process.exit(1); });
else if (!Number.isSafeInteger(runs) || runs < 1) { console.error('Say how many runs: node bench/parked.js 100'); process.exitCode = 2; }
else main(runs).catch((error) => { console.error(error); process.exitCode = 1; });
