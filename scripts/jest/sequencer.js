// Which test file begins when several run at once: those that take longest first, so that none of them is left alone at the end. On a
// fresh clone jest knows no durations and goes by size, which says little of a test that waits. Never changes what runs.
const { statSync } = require('node:fs');

/** Files of more than half a minute, longest first, as parts of their paths. Floods of messages do not begin beside what must be quick. */
const LONG = [
  'e2e/runs', 'e2e/canary', 'e2e/people', 'workflow/cancel-doors', 'workflow/trouble', 'workflow/encryption', 'workflow/people', 'workflow/rolling', 'workflow/old-copy',
  'workflow/cancel-rolling', 'e2e/demo', 'e2e/blocked', 'workflow/doctor', 'e2e/keeping', 'workflow/children', 'e2e/first-agent', 'contract/hands-call', 'workflow/recovery',
  'e2e/authority', 'workflow/callbacks', 'e2e/resolve', 'workflow/changed', 'e2e/kills', 'workflow/messages', 'workflow/authority', 'e2e/models', 'contract/tools-isolated',
  'workflow/outage', 'workflow/counts', 'workflow/restore', 'workflow/cancel', 'workflow/approve-rolling',
].map((name) => `/test/${name}.test.ts`);

const placeOf = (file) => {
  const place = LONG.findIndex((name) => file.replaceAll('\\', '/').endsWith(name));
  return place < 0 ? LONG.length : place;
};

module.exports = class Sequencer {
  sort(tests) {
    const about = tests.map((test) => ({ test, place: placeOf(test.path), size: statSync(test.path).size }));
    return about.sort((one, other) => one.place - other.place || other.size - one.size).map(({ test }) => test);
  }

  shard(tests, { shardIndex, shardCount }) {
    return [...tests].sort((one, other) => (one.path < other.path ? -1 : 1)).filter((_, i) => i % shardCount === shardIndex - 1);
  }

  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
};
