// What the worker registers as workflows. Loaded by path into the sandbox, never imported by other rooms.
export { agentRun } from './agent-run';
