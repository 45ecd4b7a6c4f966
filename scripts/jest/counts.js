// A jest reporter that writes what a run counted to the file named by LONGHAUL_COUNTS.
// A file that could not be loaded counts as one failure, a skipped or todo test too: a promise that is not kept.
// scripts/stages.js reads the file and adds up the runs.
const { writeFileSync } = require('node:fs');

module.exports = class Counts {
  constructor(globalConfig) {
    this.filtered = Boolean(globalConfig.testNamePattern);
  }

  onRunComplete(_contexts, results) {
    const file = process.env.LONGHAUL_COUNTS;
    if (!file) return;
    const skipped = this.filtered ? 0 : results.numPendingTests + results.numTodoTests;
    const unloadable = results.numRuntimeErrorTestSuites;
    const broken = results.testResults.filter((file_) => file_.testExecError && file_.numFailingTests === 0).length;
    const failed = results.numFailedTests + Math.max(unloadable, broken) + skipped;
    writeFileSync(file, JSON.stringify({ passed: results.numPassedTests, failed, skipped }));
  }
};
