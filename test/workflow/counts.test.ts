// What a turn costs, against the committed counts: a change of cost is seen before it is merged, and stands in its commit.
// Counts, never times: they are the same on a slow machine.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const root = path.join(__dirname, '..', '..');

it('a turn costs what bench/counts.json says, and no more in a longer run', async () => {
  await promisify(execFile)(process.execPath, [path.join(root, 'scripts', 'build.js'), '--if-stale'], { cwd: root });
  const check = await promisify(execFile)(process.execPath, [path.join(root, 'bench', 'counts.js'), '--check'], { cwd: root })
    .then(({ stdout }) => ({ ok: true, said: stdout }), (error: { stdout?: string; stderr?: string }) => ({ ok: false, said: `${error.stdout ?? ''}${error.stderr ?? ''}` }));
  expect(check).toMatchObject({ ok: true });
}, 300_000);
