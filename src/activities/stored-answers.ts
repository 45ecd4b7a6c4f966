// Answers of the model as they are stored, kept in memory by their sha256: a turn shows up to 200 of them again. What is kept was
// verified when it was read and cannot change under its name. Bounded in bytes; the least recently used go first.
import type { Output } from '../core/run';
import type { ArtifactsPort } from '../ports/artifacts';
import { readJson } from './outputs';
import type { StoredAnswer } from './transcript';

const MOST_BYTES = 16 * 1024 * 1024;

export class StoredAnswers {
  private readonly kept = new Map<string, { answer: StoredAnswer; bytes: number }>();
  private bytes = 0;

  constructor(private readonly artifacts: ArtifactsPort) {}

  /** Throws ArtifactError when the answer is missing or damaged. */
  async of(output: Output): Promise<StoredAnswer> {
    if (!('ref' in output)) return output.value as unknown as StoredAnswer;
    const { sha256, bytes } = output.ref;
    const known = this.kept.get(sha256);
    const answer = known?.answer ?? await readJson(this.artifacts, output.ref) as unknown as StoredAnswer;
    if (this.kept.delete(sha256)) this.bytes -= bytes;
    this.kept.set(sha256, { answer, bytes });
    this.bytes += bytes;
    this.trim();
    return answer;
  }

  private trim(): void {
    for (const [sha256, { bytes }] of this.kept) {
      if (this.bytes <= MOST_BYTES) return;
      this.kept.delete(sha256);
      this.bytes -= bytes;
    }
  }
}
