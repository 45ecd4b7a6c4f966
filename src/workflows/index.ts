// What the worker registers as workflows. Loaded by path into the sandbox, never imported by other rooms.
// Nothing else in this folder is reached from outside.
export { agentRun } from './agent-run';
