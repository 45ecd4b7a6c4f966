// What this worker process has under way, written down where a kill -9 leaves it: one small file a process in the folder
// `running` of the state folder, with who the process is, the runs it has touched, each activity's task token and each process
// group that its tools have started. Another process of this host reads it once this one is gone (reaper.ts). A line is one write without a flush: it outlives the
// process, not the host, and costs no commit. Never authority on anything: a list that cannot be written is done without.
import { createHash } from 'node:crypto';
import { closeSync, ftruncateSync, futimesSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { ClaimOwner } from '../../ports/ledger';
import type { ProcessIdentity } from '../temporal/process-identity';

/** An activity under way: its task token in base64, and the workflow that waits for it. */
export interface Underway { token: string; workflowId: string; type: string }

/**
 * What a list says. `encrypts`: whether what the process sends is encrypted, as it was at its start; absent where an older build wrote
 * the list. `runs`: workflow ids that the process has worked on, the newest last. `groups`: leaders of process groups.
 */
export interface RunningList { file: string; owner: ClaimOwner; namespace: string; encrypts?: boolean; runs: string[]; underway: Underway[]; groups: ProcessIdentity[] }

export interface RunningNotes {
  /** Notes an activity before it begins; the answer notes its end. */
  begin(activity: Underway): () => void;
  /** Notes a process group before it begins anything; the answer notes that it has been ended. */
  group(leader: ProcessIdentity): () => void;
  /** Notes that this process works on a run, whose sticky queue leads to it from now on. */
  saw(workflowId: string): void;
  /** Shows that this process still uses its list. */
  touch(): void;
  /** Removes the list, unless something is still under way. */
  close(): void;
}

type Line = { owner: ClaimOwner; namespace: string; encrypts?: boolean } | { run: string } | ({ begin: number } & Underway) | ({ group: number } & ProcessIdentity) | { end: number };

/** Runs whose sticky queue may lead here: as many as a worker keeps in memory. */
const RUNS = 200;
const COMPACT_BYTES = 256 * 1024;
/** ms without a touch after which the list of a process on another host or of another boot is litter. */
const LITTER_MS = 24 * 3600 * 1000;

const folderOf = (stateDir: string): string => path.join(stateDir, 'running');
let lists = 0;

/** Begins the list of this process. `failed` is told once when it cannot be kept; the worker goes on without. `encrypts`: as in RunningList. */
export function keepNotes(stateDir: string, owner: ClaimOwner, namespace: string, failed: (error: unknown) => void, encrypts?: boolean): RunningNotes {
  const name = createHash('sha256').update(JSON.stringify(owner)).digest('hex').slice(0, 12);
  const notes = new Notes(path.join(folderOf(stateDir), `${owner.pid}-${name}-${lists += 1}.jsonl`), { owner, namespace, ...(encrypts === undefined ? {} : { encrypts }) });
  let broken = false;
  const trying = (act: () => void): void => {
    if (broken) return;
    try {
      act();
    } catch (error) {
      broken = true;
      failed(error);
    }
  };
  trying(() => notes.rewrite());
  return {
    begin: (activity) => {
      let n = 0;
      trying(() => { n = notes.begin(activity); });
      return () => trying(() => notes.end(n));
    },
    group: (leader) => {
      let n = 0;
      trying(() => { n = notes.group(leader); });
      return () => trying(() => notes.end(n));
    },
    saw: (workflowId) => trying(() => notes.saw(workflowId)),
    touch: () => trying(() => notes.touch()),
    close: () => trying(() => notes.close()),
  };
}

class Notes {
  private out: number | undefined;
  private bytes = 0;
  private last = 0;
  private readonly underway = new Map<number, Underway>();
  private readonly groups = new Map<number, ProcessIdentity>();
  private readonly runs = new Set<string>();

  constructor(private readonly file: string, private readonly head: Extract<Line, { owner: ClaimOwner }>) {}

  begin(activity: Underway): number {
    const n = (this.last += 1);
    this.underway.set(n, activity);
    this.write({ begin: n, ...activity });
    return n;
  }

  group({ pid, startedAt }: ProcessIdentity): number {
    const n = (this.last += 1);
    this.groups.set(n, { pid, startedAt });
    this.write({ group: n, pid, startedAt });
    return n;
  }

  end(n: number): void {
    if (this.underway.delete(n) || this.groups.delete(n)) this.write({ end: n });
  }

  saw(workflowId: string): void {
    const known = this.runs.delete(workflowId);
    this.runs.add(workflowId);
    for (const oldest of this.runs) {
      if (this.runs.size <= RUNS) break;
      this.runs.delete(oldest);
    }
    if (!known) this.write({ run: workflowId });
  }

  touch(): void {
    if (this.out !== undefined) futimesSync(this.out, new Date(), new Date());
  }

  close(): void {
    if (this.out !== undefined) closeSync(this.out);
    this.out = undefined;
    if (this.underway.size + this.groups.size === 0) rmSync(this.file, { force: true });
  }

  /** Writes the list anew, without what has ended; whoever reads meanwhile sees the old or the new one. */
  rewrite(): void {
    mkdirSync(path.dirname(this.file), { recursive: true, mode: 0o700 });
    const aside = `${this.file}.new`;
    const out = openSync(aside, 'a', 0o600);
    ftruncateSync(out);
    if (this.out !== undefined) closeSync(this.out);
    this.out = out;
    this.bytes = 0;
    const lines: Line[] = [
      this.head, ...[...this.runs].map((run) => ({ run })),
      ...[...this.groups].map(([group, leader]) => ({ group, ...leader })), ...[...this.underway].map(([begin, activity]) => ({ begin, ...activity })),
    ];
    this.append(lines.map((line) => JSON.stringify(line)).join('\n'));
    renameSync(aside, this.file);
  }

  private write(line: Line): void {
    if (this.out === undefined) return;
    this.append(JSON.stringify(line));
    if (this.bytes > COMPACT_BYTES) this.rewrite();
  }

  private append(text: string): void {
    if (this.out !== undefined) this.bytes += writeSync(this.out, `${text}\n`);
  }
}

/** The lists in a state folder, of living and of dead processes. Removes what is litter. */
export function readLists(stateDir: string, now = Date.now()): RunningList[] {
  return namesIn(folderOf(stateDir)).flatMap((name) => {
    const file = path.join(folderOf(stateDir), name);
    try {
      if (now - statSync(file).mtimeMs > LITTER_MS) rmSync(file, { force: true });
      else if (name.endsWith('.jsonl')) return [readList(file)].filter((list): list is RunningList => list !== null);
    } catch {
      // It was removed by another process in this moment.
    }
    return [];
  });
}

/** Removes a list whose process is gone and whose activities have been reported. */
export const removeList = ({ file }: RunningList): void => rmSync(file, { force: true });

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** What one list says now, null when it is none. A line that was cut off or is not of ours says nothing. */
export function readList(file: string): RunningList | null {
  const [head, ...lines] = textOf(file).split('\n').flatMap(lineOf);
  if (!head || !('owner' in head)) return null;
  const underway = new Map<number, Underway>();
  const groups = new Map<number, ProcessIdentity>();
  const runs = new Set<string>();
  for (const line of lines) {
    if ('run' in line) runs.add(line.run);
    else if ('begin' in line) underway.set(line.begin, { token: line.token, workflowId: line.workflowId, type: line.type });
    else if ('group' in line) groups.set(line.group, { pid: line.pid, startedAt: line.startedAt });
    else if ('end' in line) {
      underway.delete(line.end);
      groups.delete(line.end);
    }
  }
  const encrypts = typeof head.encrypts === 'boolean' ? { encrypts: head.encrypts } : {};
  return { file, owner: head.owner, namespace: head.namespace, ...encrypts, runs: [...runs].slice(-RUNS), underway: [...underway.values()], groups: [...groups.values()] };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

type Shape = Record<string, 'string' | 'number'>;
const OWNER: Shape = { host: 'string', pid: 'number', processStart: 'string', worker: 'string' };
const SHAPES: Shape[] = [
  { run: 'string' }, { begin: 'number', token: 'string', workflowId: 'string', type: 'string' }, { group: 'number', pid: 'number', startedAt: 'string' }, { end: 'number' },
];

function lineOf(text: string): Line[] {
  try {
    const line = JSON.parse(text) as Record<string, unknown>;
    const fits = fit(line, { namespace: 'string' }) ? fit(line['owner'], OWNER) : SHAPES.some((shape) => fit(line, shape));
    return fits ? [line as unknown as Line] : [];
  } catch {
    return [];
  }
}

/** Numbers are counts or pids: whole and above zero. */
function fit(value: unknown, shape: Shape): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(shape).every(([name, type]) => {
    const field = (value as Record<string, unknown>)[name];
    return typeof field === type && (type === 'string' || (Number.isSafeInteger(field) && (field as number) > 0));
  });
}
