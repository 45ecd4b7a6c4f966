// What `longhaul/testing` offers to users: given / when / then for the law, the simulator and `crashEverywhere`, a scripted model,
// an effect server, and the contract suites that a store of their own has to pass. Imports no store and no test runner.
export { journalContract } from './contracts/journal';
export { ledgerContract } from './contracts/ledger';
export { artifactsContract } from './contracts/artifacts';
export type { OpenForTest, StorePorts, StoresUnderTest } from './contracts/suite';
export { agentManifest, asks, cancelled, evidence, given, GivenRun, modelSaid, prepared, proposes, returned, said, saw, start, succeeded, toolManifest, toolStep } from './scenario';
export type { Expected, RunOptions } from './scenario';
export { callTo, scriptedModel } from './scripted-model';
export type { ScriptedAnswer, ScriptedModel } from './scripted-model';
export { startChatServer } from './chat-server';
export type { ChatServer, ChatServerOptions, LoggedRequest, Reply } from './chat-server';
export { crashEverywhere } from './crash-everywhere';
export type { CrashOptions, CrashReport, CrashScenario } from './crash-everywhere';
export type { CrashRow, CrashToolRow } from './crash-table';
export { startEffectServer } from './effect-server';
export type { EffectServer, EffectServerOptions } from './effect-server';
export type { LoggedEffect, LoggedRequestLine, ThingRules, Trouble } from './effect-log';
export { simulate } from './simulator';
export type { Mutant, SimulatedScenario, SimulateOptions, SimulationReport, Strike } from './simulator';
