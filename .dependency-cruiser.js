// The arrows between the rooms of src, and the packages that each room may import (ARCHITECTURE.md shows the map).
// One row a room; what a row does not name is forbidden, and a folder of src without a row is an error.
// `node` allows Node's own modules. `typeOnly` names rooms that may be imported by `import type` and never by value:
// this tool, parsing with swc, sees no difference between the two, so the lint rule no-restricted-imports
// (.oxlintrc.json) tells them apart, and here only a dynamic import or a require is refused.

const anyPackage = '(^|/)node_modules/';
const pkg = (name) => `(^|/)node_modules/(@types/)?${name}/`;
const room = (name) => `^src/${name}/`;
const file = (name) => `^src/${name}\\.ts$`;

/** Everything in src but the conductor, which is loaded by path, never imported. */
const allButWorkflows = '^src/(?!workflows/)';
/** Everything but the composition roots. */
const allButRoots = '^src/(?!workflows/|cli/|worker\\.ts|index\\.ts)';

const rooms = {
  core: { at: room('core'), to: [room('core'), pkg('canonicalize'), pkg('@noble/hashes')] },
  messages: { at: file('messages'), to: [room('core')] },
  /** The shape of a user's configuration file: types and identity functions. */
  config: { at: file('config'), to: [room('core'), room('ports')] },
  ports: { at: room('ports'), to: [room('ports'), room('core')] },
  workflows: {
    at: room('workflows'),
    to: [room('workflows'), room('core'), file('messages'), pkg('@temporalio/workflow'), pkg('@temporalio/common')],
    typeOnly: [room('activities')],
  },
  activities: {
    at: room('activities'),
    to: [room('activities'), room('core'), room('ports'), pkg('@temporalio/activity'), pkg('@temporalio/common'), pkg('lru-cache'), pkg('zod')],
  },
  adapters: { at: room('adapters'), to: [room('adapters'), file('config'), room('ports'), room('core'), anyPackage], node: true },
  client: {
    at: room('client'),
    to: [room('client'), room('core'), file('messages'), room('ports'), pkg('@temporalio/client'), pkg('@temporalio/common'),
      pkg('@temporalio/envconfig'), pkg('uuid'), pkg('zod')],
  },
  testing: { at: room('testing'), to: [room('testing'), room('core'), room('ports'), pkg('@ai-sdk/provider')], node: true },
  worker: { at: file('worker'), to: [allButWorkflows, anyPackage], node: true },
  /** The process of an isolated tool: joins a configuration and one tool's code, beside the worker that joins the rest. */
  toolProcess: { at: file('tool\\.process'), to: [room('activities'), room('adapters'), room('ports'), room('core')], node: true },
  cli: { at: room('cli'), to: [allButWorkflows, anyPackage], node: true },
  index: { at: file('index'), to: [allButRoots, file('worker'), pkg('zod')] },
};

const arrows = Object.entries(rooms).flatMap(([name, { at, to, typeOnly = [], node = false }]) => [
  {
    name: `${name}-imports`,
    comment: `What ${name} may import is its row in the table of rooms. Move the code, or hand the value in from a composition root.`,
    severity: 'error',
    from: { path: at },
    to: { pathNot: [...to, ...typeOnly], ...(node ? { dependencyTypesNot: ['core'] } : {}) },
  },
  ...typeOnly.map((path) => ({
    name: `${name}-types-only`,
    comment: `${name} may import only types from there (import type).`,
    severity: 'error',
    from: { path: at },
    to: { path, dependencyTypes: ['dynamic-import', 'require'] },
  })),
]);

module.exports = {
  forbidden: [
    ...arrows,
    {
      name: 'no-room',
      comment: 'Each file of src belongs to a room with a row in the table.',
      severity: 'error',
      from: { path: '^src/', pathNot: Object.values(rooms).map(({ at }) => at) },
      to: {},
    },
    {
      name: 'no-cycles',
      comment: 'No cycles, not even of types: move what both need into a file of its own.',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true },
    },
    {
      name: 'src-without-tests-and-examples',
      comment: 'The product imports neither its tests nor its examples.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|examples)/' },
    },
    {
      name: 'examples-use-public-names',
      comment: 'An example imports what a user can: src/index.ts and src/testing/index.ts.',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^src/', pathNot: ['^src/index\\.ts$', '^src/testing/index\\.ts$'] },
    },
    {
      name: 'conductor-sandbox',
      comment: 'Only the conductor runs in the sandbox: nobody else imports @temporalio/workflow.',
      severity: 'error',
      from: { path: '^src/', pathNot: [rooms.workflows.at] },
      to: { path: pkg('@temporalio/workflow') },
    },
    {
      name: 'shipped-packages-only',
      comment: 'What src and examples import stands under dependencies of package.json.',
      severity: 'error',
      from: { path: '^(src|examples)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'resolvable',
      comment: 'This import leads nowhere. (The package by its own name leads to dist, which need not be built.)',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^longhaul(/testing)?$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    parser: 'swc',
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'], conditionNames: ['require', 'node', 'import', 'default', 'types'] },
  },
};
