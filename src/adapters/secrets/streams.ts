// What a process writes to its own stdout and stderr, without values of secrets: a tool or a library may print what it likes, and
// a supervisor keeps it in a log file. For the process of a worker alone; commands write data byte for byte.
// A value that is written in two pieces is not seen.
import { redactBytes, redactText } from '../../ports/redaction';

/** Guards both streams, and the words with which Node ends a process for an error that nobody caught (exit code 1 stays). */
export function guardStreams(): void {
  guard(process.stdout);
  guard(process.stderr);
  process.once('uncaughtException', (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack ?? error.message : String(error)}\n`);
    process.exit(1);
  });
}

type Rest = [encoding?: BufferEncoding, done?: (error?: Error | null) => void];

function guard(stream: NodeJS.WriteStream): void {
  const write = stream.write.bind(stream) as (chunk: string | Uint8Array, ...rest: Rest) => boolean;
  stream.write = ((chunk: string | Uint8Array, ...rest: Rest) => write(typeof chunk === 'string' ? redactText(chunk) : redactBytes(chunk, 'text/plain'), ...rest)) as typeof stream.write;
}
