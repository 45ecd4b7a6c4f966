// `npm run test:cluster`: the stores for many hosts, for real. Installs PostgreSQL (apt-get) and moto's S3 server (pip, in a folder under
// node_modules/.cache) where they are missing, then runs test/cluster: contract suites, races, kills of workers and of the database, the
// demo. Each test file starts the servers that it needs, on free ports of 127.0.0.1. Closes with `N passed, N failed`.
const { execFileSync, spawnSync } = require('node:child_process');
const { existsSync, mkdirSync, readdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { check, close, root, tests } = require('./stages.js');

const MOTO = 'moto[server]==5.2.1';
const isRoot = process.getuid?.() === 0;

/** Runs a command with its output on ours; as root, or by sudo where that asks for nothing. */
function asRoot(command, args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const all = isRoot ? [command, ...args] : ['sudo', '-n', 'DEBIAN_FRONTEND=noninteractive', command, ...args];
  execFileSync(all[0], all.slice(1), { stdio: ['ignore', 'inherit', 'inherit'], env });
}

const postgresIsHere = () => existsSync('/usr/lib/postgresql') && readdirSync('/usr/lib/postgresql').some((version) => existsSync(`/usr/lib/postgresql/${version}/bin/initdb`));

function installPostgres() {
  if (postgresIsHere()) return;
  console.log('PostgreSQL is missing; it is installed.');
  asRoot('apt-get', ['update', '-q']);
  asRoot('apt-get', ['install', '-y', '-q', '--no-install-recommends', 'postgresql-common']);
  // The package would make and start a server of its own, which nobody here needs.
  if (isRoot) {
    mkdirSync('/etc/postgresql-common/createcluster.d', { recursive: true });
    writeFileSync('/etc/postgresql-common/createcluster.d/longhaul-tests.conf', 'create_main_cluster = false\n');
  }
  asRoot('apt-get', ['install', '-y', '-q', '--no-install-recommends', 'postgresql']);
}

const works = (program) => spawnSync(program, ['--help'], { stdio: 'ignore', timeout: 60_000 }).status === 0;

/** Answers the program; a moto of the machine's own is used where there is one. */
function installMoto() {
  if (works('moto_server')) return 'moto_server';
  const folder = path.join(root, 'node_modules', '.cache', 'longhaul-moto');
  const program = path.join(folder, 'bin', 'moto_server');
  if (works(program)) return program;
  console.log("moto's S3 server is missing; it is installed.");
  if (spawnSync('python3', ['-c', 'import ensurepip, venv'], { stdio: 'ignore' }).status !== 0) {
    asRoot('apt-get', ['update', '-q']);
    asRoot('apt-get', ['install', '-y', '-q', '--no-install-recommends', 'python3-venv']);
  }
  execFileSync('python3', ['-m', 'venv', folder], { stdio: 'inherit' });
  execFileSync(path.join(folder, 'bin', 'pip'), ['install', '-q', MOTO], { stdio: 'inherit' });
  return program;
}

async function main() {
  installPostgres();
  process.env.LONGHAUL_MOTO = installMoto();
  const results = [await check('build', process.execPath, [path.join(__dirname, 'build.js'), '--if-stale'], 'Mend what tsc names above.')];
  results.push(await tests(['cluster'], { workers: 2, limitMs: 3_600_000 }));
  close(results);
}

main().catch((error) => {
  console.error(error.message);
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
});
