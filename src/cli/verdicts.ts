// The recovery gate's five verdicts about a call, as lines for people: what was asked, what was found, and on what evidence.
// Only words; the gate judged when it wrote them down (core/rules/recovery.ts).
import pc from 'picocolors';
import type { EventData, RunEvent } from '../core/events';
import { distance, line } from './print';

/** The newest look at a call, and when it was made. */
export interface Look { at: number; checked: EventData['RecoveryChecked'] }

const QUESTIONS: Record<number, string> = {
  1: 'was the run cancelled', 2: 'does its approval hold', 3: 'is the thing unchanged', 4: 'is there a result', 5: 'do the premises hold',
};
const WIDTH = Math.max(...Object.values(QUESTIONS).map((question) => question.length));

/** The newest look at each call, by call id. */
export async function looksIn(events: AsyncIterable<RunEvent>): Promise<Map<string, Look>> {
  const looks = new Map<string, Look>();
  for await (const event of events) if (event.type === 'RecoveryChecked') looks.set(event.data.callId, { at: event.at, checked: event.data });
  return looks;
}

/** Indented like the lines of a wait; empty without a look. */
export function verdictLines(look: Look | undefined): string[] {
  if (!look) return [];
  const { checked, at } = look;
  return [
    `    looked       ${distance(at)}, look ${checked.n}`,
    ...checked.findings.map(({ question, verdict, evidence }) => `      ${question} ${(QUESTIONS[question] ?? '').padEnd(WIDTH)}  ${pc.bold(verdict)}${evidence === '' ? '' : pc.dim(` (${line(evidence, 160)})`)}`),
  ];
}
