// The metrics endpoint of a real worker, scraped as Prometheus does: the SDK's own numbers and ours, for one run that waits and
// one call of which nobody knows the outcome.
import { createServer, type AddressInfo } from 'node:net';
import { sleep, startRig, type Rig } from '../rig/rig';

let rig: Rig;
let address: string;
beforeAll(async () => {
  rig = await startRig();
  const probe = createServer();
  await new Promise<void>((resolve) => { probe.listen(0, '127.0.0.1', resolve); });
  address = `127.0.0.1:${(probe.address() as AddressInfo).port}`;
  await new Promise((resolve) => { probe.close(resolve); });
}, 120_000);
afterAll(() => rig.stop(), 60_000);

const scrape = async (): Promise<string> => {
  const answer = await fetch(`http://${address}/metrics`);
  expect(answer.status).toBe(200);
  return answer.text();
};
const value = (text: string, name: string, label: string): number => Number(new RegExp(`^${name}\\{[^}]*${label}[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);

test('a worker tells Prometheus what the SDK counts, what runs wait for and which effects are in doubt; a taken address is refused', async () => {
  const first = await rig.worker();
  const waiting = await rig.run({ plan: { goal: 'Wait', steps: [{ id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?' } }] } });
  await rig.until(waiting, (state) => Object.keys(state.questions)[0]);
  const doubtful = await rig.run({ plan: { goal: 'Doubt', steps: [{ id: 'blind', title: 'Blind', action: { type: 'tool', tool: 'blind', args: { text: 'x', after: 60_000 } } }] } });
  for (let i = 0; i < 100 && rig.effects(doubtful).length === 0; i += 1) await sleep(100);
  await first.kill();

  const second = await rig.worker();
  await rig.until(doubtful, (state) => Object.keys(state.decisions)[0]);
  await second.kill();
  await rig.worker({ env: { LONGHAUL_METRICS: address } });
  await expect(rig.worker({ env: { LONGHAUL_METRICS: address } })).rejects.toThrow(`Metrics cannot be served at ${address} (EADDRINUSE)`);
  let text = await scrape();
  for (let i = 0; i < 40 && value(text, 'longhaul_open_waits', 'kind="decision"') !== 1; i += 1) await sleep(500).then(async () => { text = await scrape(); });
  expect([value(text, 'longhaul_open_waits', 'kind="question"'), value(text, 'longhaul_open_waits', 'kind="decision"'), value(text, 'longhaul_open_runs', 'status="waiting"')]).toEqual([1, 1, 2]);
  expect(text).toContain('temporal_worker_start');
  expect(text).toMatch(/^longhaul_metrics_failed_looks\S* 0$/m);
  await rig.send(doubtful, { kind: 'resolve', callId: 'c1', verdict: 'happened', reference: 'seen' });
  expect((await rig.end(doubtful)).status).toBe('COMPLETED');
}, 120_000);
