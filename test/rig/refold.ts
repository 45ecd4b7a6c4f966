// Folds the recorded journals of the version in work anew, without a server: after a wanted change of what `evolve` makes of the same
// events, the stored digests of states and the checkpoints follow. Events stay as they were written, but for the digest that
// CheckpointSaved names. Never for a version that is released: what it wrote must fold to what it said, or a state version is due.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { snapshot } from '../../src/core/checkpoint';
import type { RunEvent } from '../../src/core/events';
import { evolve } from '../../src/core/evolve';
import { initialState } from '../../src/core/initial';
import { STATE_VERSION, type State } from '../../src/core/state';
import { atDoor } from '../../src/core/versions/door';
import type { CheckpointRow } from '../../src/ports/journal';
import { relinked, type Line } from './damaged';
import type { CheckpointEntry, JournalEntry, Provenance } from './record';

/** Rewrites journals, checkpoints and their provenance in the folder of a version. */
export function refold(folder: string, commit: string): void {
  const file = path.join(folder, 'provenance.json');
  const made = JSON.parse(readFileSync(file, 'utf8')) as Provenance;
  rmSync(path.join(folder, 'checkpoints'), { recursive: true, force: true });
  mkdirSync(path.join(folder, 'checkpoints'));
  const checkpoints: CheckpointEntry[] = [];
  const journals = made.journals.map((entry): JournalEntry => {
    const journal = path.join(folder, 'journals', entry.file);
    const lines = readFileSync(journal, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as Line);
    const [text, saved] = folded(entry.runId, lines);
    writeFileSync(journal, `${text.join('\n')}\n`);
    for (const { version, bytes, sha256 } of saved) {
      const name = `${path.basename(entry.file, '.jsonl')}-${version}.json`;
      writeFileSync(path.join(folder, 'checkpoints', name), bytes);
      checkpoints.push({ file: name, journal: entry.file, version, sha256 });
    }
    return { ...entry, chain: String((JSON.parse(text.at(-1) ?? '') as Line).chain) };
  });
  writeFileSync(file, `${JSON.stringify({ ...made, refolded: { commit, date: new Date().toISOString() }, journals, checkpoints }, null, 2)}\n`);
}

function folded(runId: string, lines: Line[]): [string[], { version: number; bytes: string; sha256: string }[]] {
  const states: State[] = [initialState(runId)];
  const refOf = <R extends { sha256: string; bytes: number }>(version: number, ref: R): R => {
    const { text, digest } = snapshot(states[version] as State);
    return { ...ref, sha256: digest, bytes: Buffer.byteLength(text) };
  };
  const events = lines.map((line) => {
    if (line.kind !== 'event') return line;
    const written = line.event as unknown as RunEvent;
    const event = written.type === 'CheckpointSaved' ? { ...written, data: { ...written.data, ref: refOf(written.data.version, written.data.ref) } } : written;
    states.push(evolve(states.at(-1) as State, atDoor(event)));
    return { ...line, event: event as never, state: snapshot(states.at(-1) as State).digest };
  });
  const saved = ((lines[0]?.['checkpoints'] ?? []) as CheckpointRow[]).map((row) => ({ ...row, stateVersion: STATE_VERSION, ref: refOf(row.version, row.ref) }));
  const header = { ...lines[0], stateVersion: STATE_VERSION, checkpoints: saved } as Line;
  return [relinked([header, ...events.slice(1)]), saved.map(({ version, ref }) => ({ version, sha256: ref.sha256, bytes: snapshot(states[version] as State).text }))];
}
