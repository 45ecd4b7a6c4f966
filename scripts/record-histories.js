// Records test/replay/histories again on a real server. Until the first tagged version this follows a wanted change of the
// conductor or the law; from then on histories are added and never written again.
const path = require('node:path');
const { createJiti } = require('jiti');

const { record } = createJiti(__filename)(path.join(__dirname, '..', 'test', 'rig', 'record.ts'));
record(path.join(__dirname, '..', 'test', 'replay', 'histories')).then(
  () => process.stdout.write('recorded test/replay/histories\n'),
  (error) => { console.error(error); process.exitCode = 1; },
);
