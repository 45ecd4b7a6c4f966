#!/usr/bin/env node
// The `longhaul` command: loads the built command line.
require('../dist/src/cli/main.js').main(process.argv).then(
  (code) => { process.exitCode = code; },
  (error) => { process.stderr.write(`longhaul: ${error && error.message ? error.message : String(error)}\n`); process.exitCode = 1; },
);
