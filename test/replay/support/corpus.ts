// Finds what is recorded under test/replay: a folder a version, with provenance, histories, journals and checkpoints.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { Provenance } from '../../rig/record';

const replay = path.join(__dirname, '..');
export const DAMAGED = path.join(replay, 'damaged');

/** Recorded versions, oldest first. */
export const VERSIONS = readdirSync(replay).filter((name) => /^\d+\.\d+\.\d+/.test(name)).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

export const folderOf = (version: string): string => path.join(replay, version);
export const provenanceOf = (version: string): Provenance => JSON.parse(readFileSync(path.join(folderOf(version), 'provenance.json'), 'utf8')) as Provenance;

/** Files of one kind, by version: `name` is the version and the file's own name. */
export const recorded = (kind: 'histories' | 'journals' | 'checkpoints'): { version: string; name: string; file: string }[] =>
  VERSIONS.flatMap((version) => readdirSync(path.join(folderOf(version), kind)).sort().map((file) => ({ version, name: `${version}/${file}`, file: path.join(folderOf(version), kind, file) })));

export const goldenHistories = () => recorded('histories');
