// What a turn costs, as exact counts: events and workflow tasks in Temporal's history, bytes of history, commits and bytes of
// the journal. Runs declared plans of 10, 20 and 24 turns against a real development server (none saves a checkpoint yet): a turn
// costs what the last four cost, and a cost that grows with length shows as a slope. Needs a build (`npm run build`).
//   node bench/counts.js            prints the table
//   node bench/counts.js --check    fails when a count differs from bench/counts.json
//   node bench/counts.js --update   writes bench/counts.json
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const dist = path.join(__dirname, '..', 'dist', 'src');
const { z } = require('zod');
const { Client, Connection } = require('@temporalio/client');
const { createClient, defineAgent, defineConfig, defineTool, tablePolicy } = require(path.join(dist, 'index.js'));
const { startWorker } = require(path.join(dist, 'worker.js'));
const { openStores } = require(path.join(dist, 'adapters/stores/open-stores.js'));
const { findTemporal } = require(path.join(dist, 'adapters/temporal/find-binary.js'));
const { startDevServer } = require(path.join(dist, 'adapters/temporal/dev-server.js'));
const { startChatServer } = require(path.join(dist, 'testing/chat-server.js'));
const { workflowIdOf } = require(path.join(dist, 'messages.js'));

const FILE = path.join(__dirname, 'counts.json');
const LENGTHS = [10, 20, 24];
/** A slow moment can turn a local activity into a regular one, which costs more: the least of several tries is the cost. */
const TRIES = 4;

const reader = defineTool({ name: 'read', version: '1.0.0', description: 'reads', effect: 'none', input: z.object({ n: z.number() }), execute: async ({ n }) => ({ n }) });
const writer = defineTool({ name: 'write', version: '1.0.0', description: 'writes', effect: 'manual', honoursKey: true, input: z.object({ n: z.number() }), execute: async ({ n }) => ({ n }) });
const config = defineConfig({
  agents: [defineAgent({ name: 'counted', version: '1.0.0', planner: 'declared', prompts: { say: 'Say one word.' } })],
  tools: [reader, writer],
  policy: tablePolicy({ name: 'bench', rules: [{ name: 'free', tool: 'write', decision: 'allow' }] }),
});

/** A chain of turns: a model call, then the call of `tool` that hangs on it. */
function planOf(turns, tool) {
  const steps = [];
  for (let n = 1; n <= turns; n += 1) {
    steps.push({ id: `m${n}`, title: `think ${n}`, dependsOn: n > 1 ? [`t${n - 1}`] : [], action: { type: 'model', prompt: 'say', args: { n } } });
    steps.push({ id: `t${n}`, title: `act ${n}`, dependsOn: [`m${n}`], action: { type: 'tool', tool, args: { n } } });
  }
  return { goal: `${turns} turns`, steps };
}

async function costOf(bench, turns, tool) {
  const { client, temporal } = bench;
  const started = await client.start({ agent: 'counted', plan: planOf(turns, tool), owner: { id: 'bench', via: 'client', assurance: 'local-user' } });
  if (started.kind !== 'started') throw new Error(`not started: ${JSON.stringify(started)}`);
  const row = await client.result(started.runId);
  if (row.status !== 'completed') throw new Error(`the run ended as ${row.status}: ${row.detail}`);
  const handle = temporal.workflow.getHandle(workflowIdOf(started.runId));
  await handle.result();
  const { events } = await handle.fetchHistory();
  const described = await handle.describe();
  const count = (name) => events.filter((event) => event[name]).length;
  let journalBytes = 0;
  let journalEvents = 0;
  for await (const event of client.events(started.runId)) {
    journalEvents += 1;
    journalBytes += Buffer.byteLength(JSON.stringify(event));
  }
  const markers = events.filter((event) => event.markerRecordedEventAttributes && JSON.stringify(Buffer.from(event.markerRecordedEventAttributes.details?.data?.payloads?.[0]?.data ?? '').toString()).includes('append')).length;
  const patient = events.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'append').length;
  return {
    events: events.length, workflowTasks: count('workflowTaskCompletedEventAttributes'), historyBytes: Number(described.raw.workflowExecutionInfo.historySizeBytes),
    commits: markers + patient, journalEvents, journalBytes, slow: patient,
  };
}

async function least(bench, turns, tool) {
  let best;
  for (let i = 0; i < TRIES; i += 1) {
    const cost = await costOf(bench, turns, tool);
    if (!best || cost.events < best.events || (cost.events === best.events && cost.workflowTasks < best.workflowTasks)) best = cost;
    if (i > 0 && best.slow === 0 && best.events === cost.events) break;
  }
  return best;
}

const KINDS = [['model + reader', 'read'], ['model + effect, prepared locally', 'write']];

async function measure(bench) {
  const table = {};
  await costOf(bench, 2, 'read'); // the first run of a worker meets cold caches, which costs it a workflow task more
  for (const [label, tool] of KINDS) {
    const costs = [];
    for (const turns of LENGTHS) costs.push(await least(bench, turns, tool));
    const aTurn = (name, from, to) => (costs[to][name] - costs[from][name]) / (LENGTHS[to] - LENGTHS[from]);
    const last = (name) => aTurn(name, 1, 2);
    const slope = (name) => last(name) - aTurn(name, 0, 1);
    table[label] = {
      events: last('events'), eventsOfThePlanOf20: costs[1].events, workflowTasks: last('workflowTasks'), commits: last('commits'),
      journalEvents: last('journalEvents'), historyBytes: Math.round(last('historyBytes')), journalBytes: Math.round(last('journalBytes')),
      slopeEvents: slope('events'), slopeBytes: Math.round(slope('historyBytes')),
    };
  }
  return table;
}

/** Bytes by which a turn may seem dearer in a longer run: numbers and step names get longer digits. */
const SLOPE_BYTES = 32;

/** The most bytes of history that a turn may cost, whatever was committed. */
const MOST_BYTES = { 'model + reader': 3072 };

/** Counts must be equal; bytes may differ by a twentieth, since ids and times have no fixed length. */
function differences(found, wanted) {
  const out = [];
  for (const [label, row] of Object.entries(wanted)) {
    for (const [name, value] of Object.entries(row)) {
      const now = found[label]?.[name];
      const near = name === 'slopeBytes' ? Math.abs(now) <= SLOPE_BYTES : /bytes/i.test(name) ? Math.abs(now - value) <= value / 20 : now === value;
      if (!near) out.push(`${label}: ${name} was ${value} and is ${now}`);
    }
  }
  for (const [label, most] of Object.entries(MOST_BYTES)) {
    const now = found[label].historyBytes;
    if (now > most) out.push(`${label}: historyBytes is ${now} and may be ${most} at most`);
  }
  return out;
}

function print(table) {
  for (const [label, row] of Object.entries(table)) {
    process.stdout.write(`a turn of ${label}\n`);
    for (const [name, value] of Object.entries(row)) process.stdout.write(`  ${name.padEnd(22)} ${value}\n`);
  }
}

async function main() {
  const stateDir = mkdtempSync(path.join(os.tmpdir(), 'longhaul-bench-'));
  const chat = await startChatServer({ answers: () => ({ text: 'word' }) });
  process.env.LONGHAUL_MODEL = `openai-compatible:${chat.url}#bench`;
  const binary = await findTemporal({ stateDir });
  const server = await startDevServer({ stateDir, binary: binary.path, usualPorts: { port: 0, uiPort: 0 } });
  const stores = await openStores({ stateDir });
  const worker = await startWorker({ config, stateDir, connection: { address: server.address }, stores, logLevel: 'error' });
  const running = worker.run();
  const connection = await Connection.connect({ address: server.address });
  try {
    return await measure({ client: createClient({ stores, connection }), temporal: new Client({ connection }) });
  } finally {
    worker.shutdown();
    await running;
    await connection.close();
    await stores.close();
    await server.stop();
    await chat.close();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

main().then((table) => {
  print(table);
  if (process.argv.includes('--update')) writeFileSync(FILE, `${JSON.stringify(table, null, 2)}\n`);
  if (!process.argv.includes('--check')) return;
  const found = differences(table, JSON.parse(readFileSync(FILE, 'utf8')));
  for (const line of found) process.stderr.write(`${line}\n`);
  process.stderr.write(found.length === 0 ? 'The counts are as committed.\n' : 'A turn costs something else now; if that is meant, run `npm run bench:counts -- --update` and say why in the commit.\n');
  process.exitCode = found.length === 0 ? 0 : 1;
}).catch((error) => { console.error(error); process.exitCode = 1; });
