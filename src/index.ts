// The public names of longhaul: what a user's tools, policy and configuration are written with. Owns nothing.
// `z` writes the schemas of tools, so that a user's file needs no package beside this one.
// What is not named here is not public and may change in any version.
export { z } from 'zod';
export { defineTool, inputSchema, modelToolSpec, toolManifest } from './adapters/tools/define-tool';
export { runProgram } from './adapters/tools/program';
export type { ProgramEnd, ProgramOptions } from './adapters/tools/program';
export { BUILT_IN_RULES, tablePolicy } from './adapters/policy/table';
export type { PolicyRule, PolicyTable } from './adapters/policy/table-schema';
export { ToolError } from './core/failure';
export { pending } from './core/pending';
export type { Pending, PendingOptions } from './core/pending';
export type { ErrorClass, Failure } from './core/failure';
export type { Json } from './core/canonical';
export type { ArtifactRef, Effect, ToolManifest } from './core/run';
export type { LookUpAnswer, ToolArtifacts, ToolCall, ToolDefinition } from './ports/tool';
export type { PolicyPort, PolicyQuestion } from './ports/policy';
export { createClient } from './client/client';
export type { From, LonghaulClient } from './client/client';
export type { CallbackEvent } from './client/callback';
export { ClientError } from './client/types';
export type { ClientOptions, ClientStores, Delivery, PayloadEncryption, RestoreAnswer, StartAnswer, StartRequest } from './client/types';
export type { ExportLine } from './client/export';
export { defineAgent, defineConfig } from './config';
export type { AgentConfig, Config, HistoryLimits, ResourceReader, ServiceCommand } from './config';
export { openStores } from './adapters/stores/open-stores';
export { openEncryption } from './adapters/codec/encryption';
export type { Encryption, OpenEncryption } from './adapters/codec/encryption';
export { openSecrets } from './adapters/secrets/sources';
export type { Secrets } from './adapters/secrets/sources';
export { installRedactor } from './ports/redaction';
export type { Redactor } from './ports/redaction';
export type { Actor, Budget } from './core/run';
export type { Message, MessageAnswer, MessageBody } from './core/message';
