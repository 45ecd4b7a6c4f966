// Reads a plan file, YAML or JSON, into plain JSON. Judging it is the law's business (core/rules/planning).
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Json } from '../core/canonical';
import { EXIT, Stop } from './exit';

/** The content of a plan file. Throws Stop (2) with the place of the fault. */
export async function planOf(file: string): Promise<Json> {
  try {
    return parse(readFileSync(file, 'utf8')) as Json;
  } catch (error) {
    throw new Stop(EXIT.usage, `The plan ${file} cannot be read: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
  }
}
