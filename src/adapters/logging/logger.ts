// The process's log: pino, to a file or stderr, with Temporal's own log forwarded to it. Member names that usually hold
// secrets are removed, and values of secrets wherever they stand. Can be installed once per process, with or without metrics, since
// Temporal's runtime can; later calls answer the same log.
import { DefaultLogger, Runtime, type LogLevel } from '@temporalio/worker';
import pino, { type Logger } from 'pino';
import { redactJson, redactText, withoutCredentials } from '../../ports/redaction';

export interface LogOptions {
  file?: string;
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** `host:port` of the metrics endpoint; left out, there is none. */
  metrics?: string;
}

export interface Log {
  info(message: string, about?: Record<string, unknown>): void;
  warn(message: string, about?: Record<string, unknown>): void;
}

const REDACT = ['password', 'secret', 'token', 'apiKey', 'authorization', 'cookie', 'headers', '*.password', '*.secret', '*.token', '*.apiKey', '*.authorization'];

/** Bytes of lines that wait while the log cannot be written. */
const LOG_BACKLOG = 1024 * 1024;

let installed: Log | undefined;

export function installLogger({ file, level, metrics }: LogOptions): Log {
  if (installed) return installed;
  const destination = pino.destination({ dest: file ?? 2, sync: true, mkdir: true, maxLength: LOG_BACKLOG });
  // A log that cannot be written (a full disk) is no reason to end a worker: lines wait until there is room, and the newest are dropped.
  destination.on('error', () => undefined);
  // Whole lines once more: what a library hands to its log is not ours to list.
  const out = pino({ level, redact: { paths: REDACT, censor: '[removed]' } }, { write: (line: string) => void destination.write(redactText(line)) });
  Runtime.install({
    logger: new DefaultLogger(sdkLevel(level), (entry) => forward(out, entry)),
    telemetryOptions: { ...(metrics === undefined ? {} : { metrics: { prometheus: { bindAddress: metrics } } }), logging: { forward: {}, filter: `WARN,temporalio_sdk_core=${sdkLevel(level)},temporalio_client=${sdkLevel(level)}` } },
  });
  installed = {
    info: (message, about) => out.info(redactJson(about ?? {}), clean(message)),
    warn: (message, about) => out.warn(redactJson(about ?? {}), clean(message)),
  };
  return installed;
}

/** For a worker that could not be made: the runtime waits for one, and a process would never end. The next worker makes it again. */
export async function dropIdleRuntime(): Promise<void> {
  await (Runtime._instance as { shutdownIfIdle(): Promise<void> } | undefined)?.shutdownIfIdle();
}

const clean = (message: string): string => withoutCredentials(redactText(message));

const sdkLevel = (level: LogOptions['level']): LogLevel => (level === 'silent' ? 'ERROR' : level === 'info' ? 'WARN' : level.toUpperCase() as LogLevel);

interface Entry { level: LogLevel; message: string; meta?: Record<string | symbol, unknown> }

function forward(out: Logger, { level, message: said, meta }: Entry): void {
  const message = clean(said);
  const about = meta ? Object.fromEntries(Object.entries(meta)) : {};
  if (level === 'ERROR') out.error(about, message);
  else if (level === 'WARN') out.warn(about, message);
  else if (level === 'INFO') out.info(about, message);
  else out.debug(about, message);
}
