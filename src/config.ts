// The shape of `longhaul.config.ts|js|cjs|json`: which agents there are, which tools they may use, what policy says, and
// where named services are. Types and the two typed identity functions only; adapters/config reads and checks the file.
// Never holds a secret: secrets are named here and read in the activity that needs them.
import type { Budget, RunSpec } from './core/run';
import type { ToolCall, ToolDefinition } from './ports/tool';
import type { PolicyPort } from './ports/policy';

/** An agent as its author declares it. */
export interface AgentConfig {
  /** `[a-z][a-z0-9-]*`, at most 64 characters; what `longhaul run AGENT` names. */
  name: string;
  /** semver. */
  version: string;
  description?: string;
  /** `declared`: a plan comes with every run; `model`: a model plans and revises. */
  planner: 'declared' | 'model';
  /** `provider:model`, or `rules@1`; left out, the model named by the environment is used. */
  model?: string;
  /** Names of tools; left out, every tool of the file. A name means the newest major version, `name@1` that one: several may stand in one file, and a run keeps the one that it began with. `read_artifact` is built in: a planning model always has it, others name it or leave `tools` out. `run_agent`, which hands work to another agent, has to be named. */
  tools?: string[];
  /** Texts by name; `plan` and `system` are read by the planner, others by steps of type `model`. */
  prompts?: Record<string, string>;
  budget?: Budget;
  /** Most calls in flight at once; default 4. */
  maxParallel?: number;
  /** Most refused proposals in a row before the run is blocked; default 3. */
  maxRejectedPlans?: number;
  /** Tokens; default 4,096. */
  maxOutputTokens?: number;
  /** Tokens; default 32,768. */
  maxInputTokens?: number;
  /** One line for lists, from what a run was asked to do; default: the plan's goal, `input.question`, or the agent's name. */
  title?(spec: Pick<RunSpec, 'input' | 'plan'>): string;
}

/** Reads the present version of an outside thing that a premise names: `<kind>:<name>`. */
export type ResourceReader = (name: string, call: ToolCall) => Promise<string>;

/** Where a run's history is cut; for tests and small servers. */
export interface HistoryLimits {
  /** Events of one execution after which it continues as new at the next quiet moment; default 2,000. */
  softEvents?: number;
  /** Events after which nothing new begins until it has; default 10,000. */
  hardEvents?: number;
  /** Updates of one execution after which senders hear `busy`; default 1,500. */
  hardUpdates?: number;
  /** Events above which a run continues as new before a long wait; default 200. */
  waitEvents?: number;
}

/**
 * A local service that `longhaul dev` and `longhaul demo` start beside the worker. In the command, `{port}` is the port of
 * 127.0.0.1 that it must listen on (kept from start to start) and `{stateDir}` the state folder; a first word `node` is this Node.
 */
export interface ServiceCommand { command: string[]; /** Default: the folder of the configuration file. */ cwd?: string }

/** Where the stores are, when they are not in the state folder. Passwords belong in the variables, not here. */
export interface StoreAddresses { database?: string; artifacts?: string }

export interface Config {
  agents: AgentConfig[];
  tools: ToolDefinition[];
  /** Default: the table of effect classes in adapters/policy. */
  policy?: PolicyPort;
  /** Base URLs of local services by name. The variable LONGHAUL_SERVICE_<NAME> wins over this, `services.json` in the state folder comes last. */
  services?: Record<string, { url: string } | ServiceCommand | (() => string)>;
  /** Secrets by name: the environment variable, or the file (mode 0600) that holds the value. Default: the variable of the same name. */
  secrets?: Record<string, { env: string } | { file: string }>;
  /** Readers of outside versions by kind, for premises of plans. */
  resources?: Record<string, ResourceReader>;
  /** `production`: decisions about manual and irreversible effects must be signed (docs/decisions/who-decides.md); default `dev`. Pinned in each run. */
  mode?: 'dev' | 'production';
  /** Encrypts everything that goes through Temporal (docs/decisions/encryption.md); default: wherever there are payload keys. */
  encryption?: boolean;
  /** Folder of stores and logs; default `.longhaul` beside the file. */
  stateDir?: string;
  /** Stores for many hosts: `postgres://...` and `s3://...` or a folder that all share (docs/decisions/postgres-and-s3.md). LONGHAUL_DATABASE_URL and LONGHAUL_ARTIFACTS win over this. */
  stores?: StoreAddresses;
  limits?: HistoryLimits;
  /** Most calls to one model provider at once in one worker; default 16. */
  modelConcurrency?: number;
}

/** Types a configuration; answers it unchanged. Checked by `loadConfig`. */
export function defineConfig(config: Config): Config {
  return config;
}

/** Types an agent; answers it unchanged. */
export function defineAgent(agent: AgentConfig): AgentConfig {
  return agent;
}
