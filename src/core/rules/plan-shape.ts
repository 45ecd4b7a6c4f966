// The shape of a plan patch, looked at member by member, for patches that come from outside the law (an activity's answer).
// Pure and total; judges form only. Each reason names the step by its id or its place.
import type { Json } from '../canonical';
import { nameOf } from './plan-checks';
import { LEAST_REMINDER_MS } from './reminders';

type Members = Record<string, unknown>;

export const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
const isRef = (value: unknown): boolean => isMembers(value) && isText(value['sha256']) && typeof value['bytes'] === 'number';
const optional = (value: unknown, is: (value: unknown) => boolean): boolean => value === undefined || is(value);

/** Reasons against the form of a patch; empty when it may be read as a PlanPatch. */
export function patchShapeReasons(patch: unknown): string[] {
  if (!isMembers(patch) || !Array.isArray(patch['add']) || !isTexts(patch['drop'])) {
    return ['The proposal is not a plan patch; it needs a list "add" of steps and a list "drop" of step ids.'];
  }
  const reasons = optional(patch['goal'], isText) && optional(patch['planRef'], isRef) ? [] : ['The goal of the proposal is not a text.'];
  if (!optional(patch['done'], isEnd)) reasons.push('The end of the proposal needs an outcome "full" or "partial" and a summary.');
  return [...reasons, ...patch['add'].flatMap((step, index) => outlineReasons(step, index))];
}

function isEnd(end: unknown): boolean {
  if (!isMembers(end) || (end['outcome'] !== 'full' && end['outcome'] !== 'partial') || !isText(end['summary'])) return false;
  const result = end['result'];
  return result === undefined || (isMembers(result) && ('value' in result || isRef(result['ref'])));
}

function outlineReasons(step: unknown, index: number): string[] {
  if (!isMembers(step)) return [`Step ${index + 1} of the list is not an object.`];
  const name = nameOf(step, index);
  const whole = isText(step['id']) && isText(step['title']) && isTexts(step['dependsOn']) && isTexts(step['uses'])
    && optional(step['optional'], (value) => typeof value === 'boolean') && optional(step['premises'], arePremises);
  if (!whole) return [`${name} lacks an id, a title, or its lists of steps that it depends on.`];
  return isAction(step['action']) ? [] : [`${name} has no action that can be read; use tool, model, question or wait.`];
}

function arePremises(premises: unknown): boolean {
  return Array.isArray(premises) && premises.every((premise) => isMembers(premise) && isText(premise['resource']) && premise['version'] !== undefined);
}

function isAction(action: unknown): boolean {
  if (!isMembers(action)) return false;
  const args = optional(action['argsRef'], isRef) && optional(action['at'], isTexts);
  switch (action['type']) {
    case 'tool': return isText(action['tool']) && args;
    case 'model': return isText(action['prompt']) && args;
    case 'question':
      return isText(action['question']) && optional(action['deadlineMs'], (ms) => typeof ms === 'number') && optional(action['onDeadline'], isOnDeadline);
    case 'wait':
      if (action['callback'] === undefined) return typeof action['forMs'] === 'number';
      return isText(action['callback']) && optional(action['expect'], (n) => typeof n === 'number') && optional(action['deadlineMs'], (ms) => typeof ms === 'number') && optional(action['onDeadline'], isOnDeadline);
    default: return false;
  }
}

const isPause = (ms: unknown): boolean => Number.isSafeInteger(ms) && (ms as number) >= LEAST_REMINDER_MS;

/** True for one of the five things that may happen at a deadline. */
export function isOnDeadline(value: unknown): boolean {
  if (!isMembers(value) || !optional(value['remindEveryMs'], isPause)) return false;
  switch (value['then']) {
    case 'cancel-run': case 'fail-step': case 'ask-again': return true;
    case 'escalate': return isTexts(value['escalateTo']) && value['escalateTo'].length > 0;
    case 'continue': return (value as { default?: Json }).default !== undefined;
    default: return false;
  }
}
