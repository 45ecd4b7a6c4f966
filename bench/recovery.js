// How soon a run goes on after the SIGKILL of its worker, on one host and against a real development server: from the moment at
// which another worker is up to the run's next sign of life, and from the kill itself. Four states: waiting for an answer,
// in a tool call with effect, in a reader, in a model call. Prints times; times are this machine's. Needs a build.
//   node bench/recovery.js [tries]      default 3
//   node bench/recovery.js --worker     the worker process that is killed (settings in LONGHAUL_BENCH)
const { spawn } = require('node:child_process');
const { existsSync, appendFileSync, mkdtempSync, readFileSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const dist = path.join(__dirname, '..', 'dist', 'src');
const { z } = require('zod');
const { createClient, defineAgent, defineConfig, defineTool, tablePolicy } = require(path.join(dist, 'index.js'));

const SLOW_MS = 60_000;
const OWNER = { id: 'bench', via: 'client', assurance: 'local-user' };

/** Slow as long as nobody has made the file `quick`: the second attempt is at once over. */
function configOf(stateDir) {
  const work = async (effect, call) => {
    if (effect) appendFileSync(path.join(stateDir, 'effects'), `${call.key}\n`);
    for (const until = Date.now() + SLOW_MS; Date.now() < until && !existsSync(path.join(stateDir, 'quick')) && !call.signal.aborted;) await sleep(50);
    return {};
  };
  const common = { version: '1.0.0', input: z.object({}), timeoutMs: 2 * SLOW_MS, backoffMs: 100 };
  const reader = defineTool({ ...common, name: 'read', description: 'reads', effect: 'none', execute: (_, call) => work(false, call) });
  const writer = defineTool({ ...common, name: 'write', description: 'writes', effect: 'manual', execute: (_, call) => work(true, call),
    lookUp: async ({ key }) => (readFileSync(path.join(stateDir, 'effects'), 'utf8').includes(key) ? { found: true, output: {} } : { found: false }) });
  return defineConfig({
    agents: [defineAgent({ name: 'bench', version: '1.0.0', planner: 'declared' })], tools: [reader, writer],
    policy: tablePolicy({ name: 'bench', rules: [{ name: 'free', tool: 'write', decision: 'allow' }] }),
  });
}

async function work() {
  const { startWorker } = require(path.join(dist, 'worker.js'));
  const { stateDir, address } = JSON.parse(process.env.LONGHAUL_BENCH);
  const running = await startWorker({ config: configOf(stateDir), stateDir, connection: { address }, logFile: path.join(stateDir, 'worker.log') });
  const done = running.run();
  process.stdout.write('up\n');
  await done;
}

async function startProcess(settings, model) {
  const child = spawn(process.execPath, [__filename, '--worker'], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, LONGHAUL_MODEL: model, LONGHAUL_BENCH: JSON.stringify(settings) } });
  await new Promise((resolve, reject) => { child.stdout.once('data', resolve); child.once('exit', () => reject(new Error('the worker ended'))); });
  return () => new Promise((resolve) => { child.once('exit', resolve); child.kill('SIGKILL'); });
}

const step = (action) => ({ goal: 'bench', steps: [{ id: 's', title: 's', action }] });
const STATES = {
  'waits for an answer': { plan: step({ type: 'question', question: 'Well?' }), there: 'QuestionOpened', alive: 'QuestionAnswered' },
  'in a call with effect': { plan: step({ type: 'tool', tool: 'write', args: {} }), there: 'ToolCallRequested', alive: 'ToolCallSucceeded' },
  'in a reader': { plan: step({ type: 'tool', tool: 'read', args: {} }), there: 'ToolCallRequested', alive: 'ToolCallSucceeded' },
  'in a model call': { plan: step({ type: 'model', prompt: 'Say a word.', args: {} }), there: 'ModelCallRequested', alive: 'ModelCallSucceeded' },
};

async function eventOf(client, runId, type) {
  for (;;) {
    for await (const event of client.events(runId)) if (event.type === type) return event;
    await sleep(20);
  }
}

async function measure({ client, settings, model, quick }, { plan, there, alive }) {
  let kill = await startProcess(settings, model);
  quick(false);
  const { runId } = await client.start({ agent: 'bench', plan, owner: OWNER });
  const reached = await eventOf(client, runId, there);
  await sleep(1_500);
  await kill();
  const killed = Date.now();
  quick(true);
  kill = await startProcess(settings, model);
  const up = Date.now();
  if (there === 'QuestionOpened') await client.message(runId, { kind: 'answer', questionId: reached.data.questionId, answer: { value: 'yes' } }, { actor: OWNER });
  await eventOf(client, runId, alive);
  const now = Date.now();
  await client.result(runId);
  await kill();
  return { start: up - killed, up: now - up, kill: now - killed };
}

async function main(tries) {
  const { Connection } = require('@temporalio/client');
  const { openStores } = require(path.join(dist, 'adapters/stores/open-stores.js'));
  const { findTemporal } = require(path.join(dist, 'adapters/temporal/find-binary.js'));
  const { startDevServer } = require(path.join(dist, 'adapters/temporal/dev-server.js'));
  const { startChatServer } = require(path.join(dist, 'testing/chat-server.js'));
  const stateDir = mkdtempSync(path.join(os.tmpdir(), 'longhaul-bench-'));
  let isQuick = true;
  const quick = (now) => {
    isQuick = now;
    rmSync(path.join(stateDir, 'quick'), { force: true });
    if (now) appendFileSync(path.join(stateDir, 'quick'), '');
  };
  const chat = await startChatServer({ answers: async () => { for (let i = 0; i < 1_200 && !isQuick; i += 1) await sleep(50); return { text: 'word' }; } });
  const binary = await findTemporal({ stateDir });
  const server = await startDevServer({ stateDir, binary: binary.path, usualPorts: { port: 0, uiPort: 0 } });
  const stores = await openStores({ stateDir });
  const connection = await Connection.connect({ address: server.address });
  const bench = { client: createClient({ stores, connection }), settings: { stateDir, address: server.address }, model: `openai-compatible:${chat.url}#bench`, quick };
  try {
    process.stdout.write(`${'a run that was'.padEnd(24)}${'alive after the new worker is up'.padStart(36)}${'after the kill'.padStart(18)}${'start of a worker'.padStart(20)}\n`);
    for (const [name, state] of Object.entries(STATES)) {
      const found = [];
      for (let i = 0; i < tries; i += 1) found.push(await measure(bench, state));
      const range = (of) => `${Math.min(...found.map((one) => one[of]))} to ${Math.max(...found.map((one) => one[of]))} ms`;
      process.stdout.write(`${name.padEnd(24)}${range('up').padStart(36)}${range('kill').padStart(18)}${range('start').padStart(20)}\n`);
    }
  } finally {
    await connection.close();
    await stores.close();
    await server.stop();
    await chat.close();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

const given = Number(process.argv[2] ?? 3);
(process.argv.includes('--worker') ? work() : main(Number.isInteger(given) && given > 0 ? given : 3)).catch((error) => { console.error(error); process.exitCode = 1; });
