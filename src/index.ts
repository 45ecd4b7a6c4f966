// The public names of longhaul: what a user's tools, policy and configuration are written with. Owns nothing.
export { defineTool, inputSchema, modelToolSpec, toolManifest } from './adapters/tools/define-tool';
export { BUILT_IN_RULES, tablePolicy } from './adapters/policy/table';
export type { PolicyRule, PolicyTable } from './adapters/policy/table-schema';
export { ToolError } from './core/failure';
export type { ErrorClass, Failure } from './core/failure';
export type { Json } from './core/canonical';
export type { ArtifactRef, Effect, ToolManifest } from './core/run';
export type { LookUpAnswer, ToolArtifacts, ToolCall, ToolDefinition } from './core/tool';
export type { PolicyPort, PolicyQuestion } from './ports/policy';
