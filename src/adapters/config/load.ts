// Finds and reads `longhaul.config.ts|js|cjs|json`. TypeScript is read by jiti, without a build. Answers a checked
// configuration or throws ConfigError with one sentence that names the file and what to do; never a half-read one.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createJiti } from 'jiti';
import type { Config } from '../../config';
import { faultOfConfig } from './check';

const NAMES = ['longhaul.config.ts', 'longhaul.config.js', 'longhaul.config.cjs', 'longhaul.config.json'];

/** The configuration is missing or cannot be used; the message says what to do. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConfigError';
  }
}

export interface LoadedConfig {
  config: Config;
  /** Absolute path of the file. */
  file: string;
  /** Absolute path of the state folder. */
  stateDir: string;
}

/** Reads the file at `where`, or the one in the folder `where` (default: the working folder). Throws ConfigError. */
export async function loadConfig(where = process.cwd()): Promise<LoadedConfig> {
  const file = fileAt(path.resolve(where));
  const config = await read(file);
  const fault = faultOfConfig(config);
  if (fault) throw new ConfigError(`${file} cannot be used. ${fault}`);
  return { config, file, stateDir: path.resolve(path.dirname(file), config.stateDir ?? '.longhaul') };
}

function fileAt(place: string): string {
  if (NAMES.some((name) => place.endsWith(path.extname(name))) && existsSync(place)) return place;
  const found = NAMES.map((name) => path.join(place, name)).find((candidate) => existsSync(candidate));
  if (found) return found;
  throw new ConfigError(`There is no configuration at ${place}; make a longhaul.config.ts there that exports defineConfig({ agents, tools }), or name one with --config.`);
}

async function read(file: string): Promise<Config> {
  try {
    if (file.endsWith('.json')) return JSON.parse(readFileSync(file, 'utf8')) as Config;
    // Modules of the product itself stay what the caller has loaded, so that a ToolError is the same class on both sides.
    const jiti = createJiti(__filename, { interopDefault: true });
    return exportedBy(await jiti.import<unknown>(file)) as Config;
  } catch (error) {
    throw new ConfigError(`${file} could not be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The default export; built CommonJS modules carry it one level deeper than sources, beside their other exports. */
function exportedBy(module: unknown): unknown {
  let value = module;
  for (let depth = 0; depth < 3 && typeof value === 'object' && value !== null && 'default' in value; depth += 1) value = value.default;
  return value;
}
