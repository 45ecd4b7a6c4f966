// A run of very many turns, to see that nothing grows with its length: the time of a turn, the bytes of a checkpoint, what the model
// is told, the bytes of history a turn, and how soon the run goes on after the SIGKILL of its worker. A planning agent asks a local
// model over HTTP and does one effect a turn; the worker is a process of its own. A machine's pace changes in twenty minutes: what a
// turn costs at the end is also held against a new run then, beside it and on a new server with empty stores. Prints one table; needs a build.
//   node bench/growth.js [TURNS]     default 10000 (about half an hour), at least 2000; exits 1 when something grows
//   node bench/growth.js --worker    the worker process that is killed (settings in LONGHAUL_BENCH)
const { spawn } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const dist = path.join(__dirname, '..', 'dist', 'src');
const { createClient, defineAgent, defineConfig, defineTool, openStores, tablePolicy, z } = require(path.join(dist, 'index.js'));

/** Turns that one figure is taken from, at the beginning and at the end. */
const BLOCK = 1_000;
/** In how many turns of either end the worker is killed, while the model is thinking. */
const KILLS = [60, 80, 100, 120, 140];
const OWNER = { id: 'bench', via: 'client', assurance: 'local-user' };
const LIMITS = { turn: 1.1, beside: 1.1, checkpoint: 1.2, input: 1.1, history: 1.05, resume: 1.5 };

const config = defineConfig({
  agents: [defineAgent({ name: 'long', version: '1.0.0', planner: 'model', prompts: { system: 'Write a line a turn.' } })],
  tools: [defineTool({
    name: 'write', version: '1.0.0', description: 'writes a line', effect: 'manual', honoursKey: true, input: z.object({ n: z.number() }),
    execute: async ({ n }) => ({ n, line: `line ${String(n).padStart(6, '0')} `.repeat(20) }),
  })],
  policy: tablePolicy({ name: 'bench', rules: [{ name: 'free', tool: 'write', decision: 'allow' }] }),
});

async function work() {
  const { startWorker } = require(path.join(dist, 'worker.js'));
  const { stateDir, address } = JSON.parse(process.env.LONGHAUL_BENCH);
  const worker = await startWorker({ config, stateDir, connection: { address }, logFile: path.join(stateDir, 'worker.log') });
  const running = worker.run();
  process.stdout.write('up\n');
  process.once('SIGTERM', () => worker.shutdown());
  await running;
}

async function startProcess(settings, model) {
  const child = spawn(process.execPath, [__filename, '--worker'], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, LONGHAUL_MODEL: model, LONGHAUL_BENCH: JSON.stringify(settings) } });
  await new Promise((resolve, reject) => { child.stdout.once('data', resolve); child.once('exit', () => reject(new Error('the worker ended'))); });
  return (signal) => new Promise((resolve) => { child.once('exit', resolve); child.kill(signal); });
}

/** A model that asks for one more line each time, up to `turns`; at a turn of `kills` it answers never and tells `killed`. */
class Model {
  turn = 0;
  inputs = [];
  began(turns, kills, killed) {
    Object.assign(this, { turn: 0, inputs: [], turns, kills: new Set(kills), killed, asked: null });
  }
  answer = (request) => {
    this.asked?.(Date.now());
    this.asked = null;
    if (this.kills.delete(this.turn + 1)) {
      this.killed(this.turn + 1);
      return new Promise(() => undefined);
    }
    this.turn += 1;
    this.inputs.push(Buffer.byteLength(JSON.stringify(request.messages)));
    return this.turn > this.turns ? { text: 'All lines are written.' } : { calls: [{ id: `call_${String(this.turn).padStart(6, '0')}`, tool: 'write', args: { n: 1_000_000 + this.turn } }] };
  };
  next() {
    return new Promise((resolve) => { this.asked = resolve; });
  }
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const say = (text) => process.stdout.write(`${text}\n`);

/** Lets one run make its turns; answers what it cost. */
async function runOf(bench, runId, turns, kills) {
  const { client, model, settings, url } = bench;
  const resumes = [];
  let failed;
  model.began(turns, kills, (turn) => void kill(turn).catch((error) => { failed = error; }));
  async function kill(turn) {
    await bench.stop('SIGKILL');
    bench.stop = await startProcess(settings, url);
    const up = Date.now();
    resumes.push({ turn, ms: (await model.next()) - up });
  }
  const began = Date.now();
  await client.start({ runId, agent: 'long', input: {}, owner: OWNER, budget: { calls: 10 * turns, tokens: 1e9, microUsd: 1e12 } });
  const tell = setInterval(() => process.stderr.write(`  turn ${model.turn} of ${turns}, ${Math.round((Date.now() - began) / 1000)} s\n`), 30_000);
  const row = await client.result(runId).finally(() => clearInterval(tell));
  if (failed) throw failed;
  if (row.status !== 'completed') throw new Error(`the run ended as ${row.status}: ${row.detail}`);
  const ends = [];
  let effects = 0;
  for await (const event of client.events(runId)) {
    if (event.type === 'StepCompleted') ends.push(event.at);
    if (event.type === 'ToolCallSucceeded') effects += 1;
  }
  return { times: ends.map((at, i) => at - (ends[i - 1] ?? at)), effects, resumes, inputs: model.inputs, seconds: (Date.now() - began) / 1000 };
}

/** History of every generation that ran its full length: events and bytes, oldest first. */
async function generations(temporal, runId) {
  const all = [];
  for await (const { runId: id } of temporal.workflow.list({ query: `WorkflowId = 'run/${runId}'` })) {
    const { historyLength, raw, startTime } = await temporal.workflow.getHandle(`run/${runId}`, id).describe();
    all.push({ at: startTime.getTime(), events: historyLength, bytes: Number(raw.workflowExecutionInfo.historySizeBytes) });
  }
  return all.sort((a, b) => a.at - b.at).slice(0, -1);
}

async function measure(bench, turns) {
  const { stores, temporal } = bench;
  const late = turns + 40;
  const long = await runOf(bench, 'long', late + 200, [...KILLS, ...KILLS.map((n) => late + n)]);
  const beside = await runOf(bench, 'beside', BLOCK, []);
  const anew = await inWorld((other) => runOf(other, 'anew', BLOCK, []));
  const [first, last, now] = [median(long.times.slice(0, BLOCK)), median(long.times.slice(turns - BLOCK, turns)), median(anew.times)];
  const pace = now / first;
  const sizes = (await stores.journal.checkpoints('long')).map(({ ref }) => ref.bytes);
  const histories = await generations(temporal, 'long');
  const part = (list, from, to) => median(list.slice(Math.floor(list.length * from), Math.ceil(list.length * to)));
  const perTurn = histories.map(({ bytes }) => bytes);
  const resume = (from, to) => median(long.resumes.filter(({ turn }) => turn > from && turn <= to).map(({ ms }) => ms));
  const at = (n) => sizes[Math.min(sizes.length - 1, Math.floor(n / 25))];
  const rows = [
    ['p50 of a turn (ms), first 1,000 and last 1,000', first, last, LIMITS.turn * Math.max(1, pace)],
    ['p50 of a turn (ms), another run of 1,000 right after, and last 1,000', median(beside.times), last, LIMITS.beside],
    ['pace: p50 of a turn (ms), first 1,000 on an empty server, then and now', first, now, Infinity],
    [`bytes of a checkpoint, turn 1,000 and ${turns}`, at(BLOCK), at(turns), LIMITS.checkpoint],
    [`bytes told to the model, turn 1,000 and ${turns}`, part(long.inputs, (BLOCK - 50) / long.inputs.length, (BLOCK + 50) / long.inputs.length), part(long.inputs, 0.99, 1), LIMITS.input],
    ['bytes of history a full generation, first and last fifth', part(perTurn, 0, 0.2), part(perTurn, 0.8, 1), LIMITS.history],
    [`ms from a new worker being up to the model's next call, near turn 100 and from ${turns}`, resume(0, 200), resume(turns, Infinity), LIMITS.resume],
  ];
  say(`each resume, turn: ms: ${long.resumes.map(({ turn, ms }) => `${turn}: ${ms}`).join(', ')}`);
  say(`${turns + 240} turns in ${Math.round(long.seconds)} s, ${long.effects} effects, ${histories.length + 1} generations, ${sizes.length} checkpoints, ${long.resumes.length} kills`);
  return { rows, wrong: long.effects === turns + 240 ? [] : [`${turns + 240} effects were due, ${long.effects} are in the journal`] };
}

function table(rows) {
  const Table = require('cli-table3');
  const shown = new Table({ head: ['', 'early', 'late', 'ratio', 'at most'], style: { head: [], border: [] } });
  for (const [what, early, late, most] of rows) shown.push([what, early, late, (late / early).toFixed(2), Number.isFinite(most) ? most.toFixed(2) : '']);
  return shown.toString();
}

/** Does `act` with a server, empty stores, a model and a worker of its own. */
async function inWorld(act) {
  const { Client, Connection } = require('@temporalio/client');
  const { findTemporal } = require(path.join(dist, 'adapters/temporal/find-binary.js'));
  const { startDevServer } = require(path.join(dist, 'adapters/temporal/dev-server.js'));
  const { startChatServer } = require(path.join(dist, 'testing/chat-server.js'));
  const stateDir = mkdtempSync(path.join(os.tmpdir(), 'longhaul-growth-'));
  const server = await startDevServer({ stateDir, binary: (await findTemporal({ stateDir })).path, usualPorts: { port: 0, uiPort: 0 } });
  const model = new Model();
  const chat = await startChatServer({ answers: (request) => { chat.requests.length = 0; return model.answer(request); } });
  const stores = await openStores({ stateDir });
  const connection = await Connection.connect({ address: server.address });
  const bench = { model, stores, settings: { stateDir, address: server.address }, url: `openai-compatible:${chat.url}#local`, client: createClient({ stores, connection }), temporal: new Client({ connection }) };
  bench.stop = await startProcess(bench.settings, bench.url);
  try {
    return await act(bench);
  } finally {
    await bench.stop('SIGTERM');
    await connection.close();
    await stores.close();
    await chat.close();
    await server.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function main(turns) {
  const { rows, wrong } = await inWorld((bench) => measure(bench, turns));
  say(table(rows));
  for (const [what, early, late, most] of rows) if (late > early * most) wrong.push(`${what}: ${late} is more than ${most.toFixed(2)} times ${early}`);
  for (const line of wrong) say(line);
  process.exitCode = wrong.length > 0 ? 1 : 0;
}

const [asked = '10000'] = process.argv.slice(2);
if (asked === '--worker') void work();
else if (!/^\d+$/.test(asked) || Number(asked) < 2 * BLOCK) {
  console.error('Say how many turns, at least 2000: node bench/growth.js 10000');
  process.exitCode = 2;
} else main(Number(asked)).catch((error) => { console.error(error); process.exitCode = 1; });
