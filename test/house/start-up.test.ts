// What every command line pays before it does anything: the entry loads no SDK, no schema library and no store. Commands load what
// they need when they run.
import { execFileSync } from 'node:child_process';
import path from 'node:path';

const ROOT = path.join(__dirname, '..', '..');

test('the command line starts without the SDK of Temporal, the schema library, a database driver or a provider', () => {
  execFileSync(process.execPath, [path.join(ROOT, 'scripts', 'build.js'), '--if-stale'], { cwd: ROOT, stdio: 'ignore' });
  const script = `require('./dist/src/cli/main.js').main(['node', 'longhaul', '--help']).then(() => process.stdout.write(Object.keys(require.cache).join(' ')))`;
  const loaded = execFileSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' });
  const packages = new Set([...loaded.matchAll(/node_modules\/((?:@[^/\s]+\/)?[^/\s]+)/g)].map(([, name]) => name));
  expect([...packages].filter((name) => /^(@temporalio\/|@ai-sdk\/|@aws-sdk\/|@grpc\/|zod$|libsql$|pg$|yaml$|pino$|jiti$)/.test(name ?? ''))).toEqual([]);
  expect(packages).toContain('commander');
}, 60_000);
