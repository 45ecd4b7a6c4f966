// A chain of digests over the lines of an export: each link covers the link before it and one line, so that a line which was
// changed, left out, put in or moved is found and named. It detects damage and edits; it is no signature.
// Pure; the journal itself keeps no chain, since its store is trusted.
import { canonical, sha256Hex } from './canonical';

/** What the first line is linked to. */
export const chainStart = (runId: string): string => sha256Hex(`longhaul-journal|1|${runId}`);

/** The link of a line: hex sha256 of the link before and the canonical JSON of the line without its own link. */
export const chainNext = (before: string, line: object): string => sha256Hex(`${before}\n${canonical(line)}`);
