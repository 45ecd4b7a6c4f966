// What the command line says of deployment versions before anything is connected, and what the doctor says of who polls a queue.
import { checkVersion } from '../../src/cli/deployment-turn';
import { judged } from '../../src/cli/doctor/workers';
import { Stop } from '../../src/cli/exit';

const refusal = (options: Parameters<typeof checkVersion>[0]): [number, string] | null => {
  try {
    checkVersion(options);
    return null;
  } catch (error) {
    return error instanceof Stop ? [error.code, error.message] : [0, String(error)];
  }
};

test.each([
  [{ deployment: '' }, '--deployment needs a name'], [{ deployment: ' ' }, '--deployment needs a name'], [{ deployment: 'a.b' }, '--deployment needs a name without dots'],
  [{ deployment: 'a:b' }, '--deployment needs a name without dots'], [{ deployment: '__a' }, '--deployment needs a name'], [{ deployment: 'crew', buildId: '' }, '--build-id needs an id'],
  [{ buildId: '' }, '--build-id belongs to a deployment'], [{ current: true }, '--current belongs to a deployment'],
])('a version that cannot be is a usage error in one sentence: %j', (options, words) => expect(refusal(options)).toEqual([2, expect.stringContaining(words)]));

test('a version that can be passes, with or without its build id', () => expect([refusal({ deployment: 'crew' }), refusal({ deployment: 'crew-1', buildId: '1.0.0' }), refusal({})]).toEqual([null, null, null]));

const plain = { identity: 'longhaul 1@here' };
const of = (buildId: string) => ({ identity: `longhaul ${buildId}@here`, deployment: 'crew', buildId });
const owner = { name: 'crew', buildId: 'v2' };
const said = (pollers: Parameters<typeof judged>[0]['pollers'], at: typeof owner | null): string[] => judged({ pollers, owner: at }, 'q').map(({ what, state }) => `${state} ${what}`);

test('a worker that gets nothing is never ok to the doctor: the version that owns the queue counts, or that none does', () => {
  expect(said([of('v2')], owner)).toEqual(['ok worker']);
  expect(said([of('v2'), of('v1')], owner)).toEqual(['ok worker']);
  expect(said([of('v2'), plain], owner)).toEqual(['ok worker', 'note worker']);
  expect(said([of('v1'), plain], owner)).toEqual(['wrong worker']);
  expect(said([], owner)).toEqual(['wrong worker']);
  expect(said([plain], null)).toEqual(['ok worker']);
  expect(said([plain, of('v2')], null)).toEqual(['ok worker', 'note deployment crew']);
  expect(said([of('v2')], null)).toEqual(['wrong deployment crew']);
});
