// Where the sources disagree: figures of one kind, said of the same thing for the same time, in different files, that are not
// the same. A guess from shared words, never a proof; the report shows the sentences side by side. Pure.
import { figuresOf, sameKind, samePeriod, sameValue, type Figure } from './figures';
import type { Sentence } from './sentences';
import { shared } from './words';

export interface Claim { sentence: Sentence; figure: Figure }

export interface Contradiction { about: string; claims: Claim[] }

const MOST = { claims: 6, groups: 10 } as const;

export const claimsOf = (sentences: Sentence[]): Claim[] => sentences.flatMap((sentence) => figuresOf(sentence.text).map((figure) => ({ sentence, figure })));

/** Groups of claims that do not agree, in the order of their sources. `focus` are the stems that the question turns on. */
export function contradictionsIn(sentences: Sentence[], focus: ReadonlySet<string>): Contradiction[] {
  const claims = claimsOf(sentences);
  const groups: Claim[][] = [];
  for (const [claim, other] of pairsOf(claims)) {
    const group = groups.find((members) => members.includes(claim) || members.includes(other));
    if (!group) groups.push([claim, other]);
    else for (const member of [claim, other]) if (!group.includes(member)) group.push(member);
  }
  const weight = (group: Claim[]): number => group.filter(({ figure }) => shared(figure.subject, focus).length > 0).length;
  return groups.map((group, at) => ({ group, at })).sort((a, b) => weight(b.group) - weight(a.group) || a.at - b.at)
    .slice(0, MOST.groups).map(({ group }) => ({ about: aboutOf(group), claims: oneEach(group).slice(0, MOST.claims) }));
}

/** Pairs that disagree and are each other's nearest in their files, so that one event is not held against every other. */
function pairsOf(claims: Claim[]): [Claim, Claim][] {
  const nearest = new Map<Claim, Map<string, { claim: Claim; words: number }>>(claims.map((claim) => [claim, new Map()]));
  const note = (claim: Claim, other: Claim, words: number): void => {
    const best = nearest.get(claim)?.get(other.sentence.file);
    if (!best || best.words < words) nearest.get(claim)?.set(other.sentence.file, { claim: other, words });
  };
  const pairs: [Claim, Claim][] = [];
  for (const [at, claim] of claims.entries()) {
    for (const other of claims.slice(at + 1)) {
      if (!disagree(claim, other, claims)) continue;
      const words = nearness(claim.figure, other.figure);
      pairs.push([claim, other]);
      note(claim, other, words);
      note(other, claim, words);
    }
  }
  const chosen = (claim: Claim, other: Claim): boolean => nearest.get(claim)?.get(other.sentence.file)?.claim === other;
  return pairs.filter(([claim, other]) => chosen(claim, other) && chosen(other, claim));
}

function disagree(a: Claim, b: Claim, all: Claim[]): boolean {
  if (a.sentence.file === b.sentence.file || !alike(a.figure, b.figure) || sameValue(a.figure.kind, a.figure.value, b.figure.value)) return false;
  // A file that says the same somewhere else does not contradict it; logs and histories have many dates.
  const words = nearness(a.figure, b.figure);
  const agreed = (one: Claim, file: string): boolean => all.some((third) => third.sentence.file === file && sameValue(one.figure.kind, one.figure.value, third.figure.value) && alike(one.figure, third.figure) && nearness(one.figure, third.figure) >= words);
  return !agreed(a, b.sentence.file) && !agreed(b, a.sentence.file);
}

/** How much two figures are said of the same: words of their clauses, then of their sentences. */
const nearness = (a: Figure, b: Figure): number => shared(a.subject, b.subject).length + shared(a.around, b.around).length / 100;

/** Are two figures said of the same thing? By shared words of their subjects, more of them where no period binds them. */
function alike(a: Figure, b: Figure): boolean {
  if (!sameKind(a.kind, b.kind) || !samePeriod(a.periods, b.periods)) return false;
  if (a.bound !== undefined && b.bound !== undefined && a.bound !== b.bound) return false;
  if (a.names.size > 0 && b.names.size > 0 && shared(a.names, b.names).length === 0) return false;
  const counted = a.kind.startsWith('count:') ? a.kind.slice('count:'.length) : '';
  const without = (words: Set<string>): Set<string> => new Set([...words].filter((word) => word !== counted));
  const [x, y] = [without(a.subject), without(b.subject)];
  const common = shared(x, y).length;
  const least = Math.min(x.size, y.size);
  const bound = a.periods.size > 0;
  if (counted !== '' && bound && x.size <= 1 && y.size <= 1) return true;
  if (bound && least > 0 && common === least) return true;
  if (common >= 2 && common >= (a.kind === 'date' ? 0.3 : 0.5) * least) return true;
  // A short clause has few words of its own: those of its sentence say what it is about.
  const [v, w] = [without(a.around), without(b.around)];
  const widely = shared(v, w).length;
  return common >= 1 && widely >= 2 && widely >= 0.5 * Math.min(v.size, w.size);
}

/** One claim for each value and file: the first that says it. */
function oneEach(group: Claim[]): Claim[] {
  return group.filter((claim, at) => group.findIndex((other) => other.sentence.file === claim.sentence.file && other.figure.value === claim.figure.value) === at);
}

const KINDS: Record<string, string> = { money: 'an amount', amount: 'an amount', percent: 'a share', date: 'a date', count: 'a number' };

function aboutOf(group: Claim[]): string {
  const kind = KINDS[group[0]?.figure.kind.split(':')[0] ?? ''] ?? 'a figure';
  const period = [...(group[0]?.figure.periods ?? [])].join(', ');
  const values = oneEach(group).map(({ sentence, figure }) => `${figure.shown.replace(/\s+/g, ' ')} (${sentence.file}:${sentence.first})`);
  return `The sources differ on ${kind}${period ? ` for ${period}` : ''}: ${values.slice(0, MOST.claims).join(', ')}`.slice(0, 480);
}
