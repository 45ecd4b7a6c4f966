// Decides which Temporal server to use: an address from the environment or a profile (the same variables and file as
// Temporal's own command line), else the development server whose ports are kept in `<stateDir>/dev.json`.
// Never starts a server. An address that the user gave and that does not answer is an error, never a reason to use another
// server in silence: the run would end up in a place where nobody looks for it.
import type { ConnectionOptions } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { readDevState } from './dev-state';
import { isRunning } from './process-identity';
import { whyUnreachable } from './probe';
import { TemporalUnavailable } from './unavailable';

export interface ResolvedAddress {
  /** `host:port`. */
  address: string;
  namespace: string;
  /** `given`: environment or profile; `dev`: the development server of this state folder. */
  from: 'given' | 'dev';
  /** For `Connection.connect` and `NativeConnection.connect` alike: address, tls, apiKey, metadata. */
  connectionOptions: Pick<ConnectionOptions, 'address' | 'tls' | 'apiKey' | 'metadata'>;
}

export interface ResolveOptions {
  stateDir: string;
  env?: NodeJS.ProcessEnv;
  /** How long each stage of the check may take, in ms; default 2,000. */
  timeoutMs?: number;
}

/** The address from the environment or a profile, unchecked; undefined when neither names one. */
export function givenAddress(env: NodeJS.ProcessEnv = process.env): ResolvedAddress | undefined {
  const variables = Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
  const { namespace, connectionOptions } = loadClientConnectConfig({ overrideEnvVars: variables });
  const address = connectionOptions?.address;
  if (!address) return undefined;
  return { address, namespace: namespace ?? 'default', from: 'given', connectionOptions: { ...connectionOptions, address } };
}

/**
 * The address of this folder's development server, unchecked; undefined when its process does not run.
 * The kept port alone would not do: another project's server may have taken it meanwhile.
 */
export function devAddress(stateDir: string): ResolvedAddress | undefined {
  const { port, server } = readDevState(stateDir);
  if (port === undefined || !server || !isRunning(server)) return undefined;
  const address = `127.0.0.1:${port}`;
  return { address, namespace: 'default', from: 'dev', connectionOptions: { address, tls: false } };
}

/**
 * The server to use, checked to answer.
 * Undefined when none is given and no development server runs: the caller may start one.
 * Throws TemporalUnavailable (`unreachable`) when a given address does not answer.
 */
export async function resolveAddress(options: ResolveOptions): Promise<ResolvedAddress | undefined> {
  const timeoutMs = options.timeoutMs ?? 2_000;
  const given = givenAddress(options.env);
  if (given) {
    const why = await whyUnreachable(given.connectionOptions, given.namespace, timeoutMs);
    if (!why) return given;
    throw new TemporalUnavailable(
      'unreachable',
      `No Temporal server answers at ${given.address}, namespace ${given.namespace} (${why}): ` +
        'start it, or correct or unset TEMPORAL_ADDRESS and the profile to use the development server.',
    );
  }
  const dev = devAddress(options.stateDir);
  const why = dev && (await whyUnreachable(dev.connectionOptions, dev.namespace, timeoutMs));
  return dev && !why ? dev : undefined;
}
