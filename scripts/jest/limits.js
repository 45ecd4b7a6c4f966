// Time limits of a test by room of test/, in ms. Loaded by jest before each test file.
// A test that needs more says so itself; these are the limits that a stuck test runs into.

const limits = { core: 20_000, replay: 20_000, house: 60_000, contract: 60_000, workflow: 120_000, crash: 180_000, e2e: 180_000, cluster: 180_000, disaster: 240_000 };

const room = /[\\/]test[\\/](\w+)[\\/]/.exec(expect.getState().testPath ?? '')?.[1];
if (room in limits) jest.setTimeout(limits[room]);
