// Reads an export of a run (client/export.ts) for replay: line by line, each byte for byte as an export writes it and with its link
// in the chain of digests. So one changed byte anywhere is found, and named by its line. Folds nothing.
import { createReadStream } from 'node:fs';
import { canonical } from '../core/canonical';
import { chainNext, chainStart } from '../core/chain';
import { STATE_VERSION } from '../core/state';
import { EXPORT_FORMAT, type ExportLine } from '../client/export';
import { EXIT, Stop } from './exit';
import { oddMember, shapeFault } from './journal-shape';
import { JournalFault, type JournalToJudge, type ReplayedEvent } from './verify-journal';

type Header = Extract<ExportLine, { kind: 'header' }>;

/** Opens an export; its events are read as they are asked for. Throws Stop where the file is no export. */
export async function openExport(file: string): Promise<JournalToJudge & { header: Header }> {
  const lines = linesOf(file);
  const first = await lines.next();
  const header = first.done ? undefined : read(first.value) as Header | undefined;
  if (header?.kind !== 'header' || header.format !== EXPORT_FORMAT || typeof header.runId !== 'string') throw new Stop(EXIT.error, `${file} is no export of a run: make one with \`npx longhaul runs export RUN --out FILE\`.`);
  if (header.v !== 1) throw new Stop(EXIT.error, `${file} has version ${JSON.stringify(header.v) ?? 'none'} of the format, and this build reads version 1: replay it with the build that wrote it.`);
  const { checkpoints, row } = header;
  if (!Array.isArray(checkpoints) || !row) throw new Stop(EXIT.error, `The header of ${file} lacks its checkpoints or its row: export run ${header.runId} again.`);
  return { header, runId: header.runId, checkpoints, row, events: events(first.value as string, header, lines) };
}

async function* events(first: string, header: Header, lines: AsyncGenerator<string>): AsyncGenerator<ReplayedEvent> {
  let seq = 0;
  let chain = chainStart(header.runId);
  let ended = false;
  for await (const text of withFirst(first, lines)) {
    const line = parsed(text, seq);
    if (ended) throw new JournalFault(seq, 'line', 'it stands after the closing line');
    const place: [number, string] = line.kind === 'event' ? [line.event?.seq ?? seq + 1, line.event?.type ?? 'unknown'] : [seq, line.kind === 'header' ? 'header' : 'end'];
    if (line.kind === 'event') checked(line.event, seq + 1, header.runId);
    if (line.kind === 'end' && line.events !== seq) throw new JournalFault(seq, 'end', `its last line counts ${line.events} events, and ${seq} are there`);
    chain = linked(chain, line, place);
    if (line.kind === 'header' && seq > 0) throw new JournalFault(seq, 'line', 'it is a second header');
    ended = line.kind === 'end';
    if (line.kind !== 'event') continue;
    seq += 1;
    yield { event: line.event, epoch: line.epoch, ...(header.stateVersion === STATE_VERSION && line.state !== null ? { state: line.state } : {}) };
  }
  if (!ended) throw new JournalFault(seq, 'end', 'the file is cut off: its last line is missing');
}

/** The shape of an event and its number come before the chain: they say more. */
function checked(event: unknown, expected: number, run: string): void {
  const odd = shapeFault(event);
  const { seq, type, runId } = (event ?? {}) as { seq?: unknown; type?: unknown; runId?: unknown };
  const fault = (why: string): JournalFault => new JournalFault(Number.isSafeInteger(seq) ? seq as number : expected, typeof type === 'string' ? type : 'unknown', why);
  if (odd !== null) throw fault(odd);
  if (seq !== expected) throw fault(`its number is ${String(seq)}, and ${expected} must follow ${expected - 1}`);
  if (runId !== run) throw fault(`it belongs to run ${String(runId)}`);
}

function linked(before: string, line: ExportLine, [seq, type]: [number, string]): string {
  const { chain, ...rest } = line;
  const next = chainNext(before, rest);
  if (chain === next) return next;
  throw new JournalFault(seq, type, type === 'end' ? 'its last line is not what was exported' : 'its line, or one left out before it, is not what was exported');
}

async function* withFirst(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

function parsed(text: string, seq: number): ExportLine {
  const line = read(text);
  const broken = (why: string): JournalFault => new JournalFault(seq, 'line', why);
  if (line === undefined) throw broken('it is not JSON');
  if (JSON.stringify(line) !== text) throw broken('its bytes are not as an export writes them');
  const kind = (line as { kind?: unknown } | null)?.kind;
  if (kind !== 'header' && kind !== 'event' && kind !== 'end') throw broken(`it is no line of an export (kind ${JSON.stringify(kind) ?? 'missing'})`);
  const odd = kind === 'event' ? null : oddMember({ ...line as object, spec: null });
  if (odd !== null) throw broken(odd);
  return line as ExportLine;
}

function read(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    canonical(value);
    return value;
  } catch {
    return undefined;
  }
}

/** Lines that end with \n, decoded strictly: bytes that are no UTF-8 make a line that is no JSON. */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const text = (bytes: Buffer): string => {
    try {
      return decoder.decode(bytes);
    } catch {
      return '';
    }
  };
  let parts: Buffer[] = [];
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      yield text(Buffer.concat([...parts, chunk.subarray(from, at)]));
      parts = [];
      from = at + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
  }
  if (parts.length > 0) yield text(Buffer.concat(parts));
}
