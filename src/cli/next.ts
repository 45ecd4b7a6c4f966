// What a person types next for the agents of a configuration: a plan's file for one that follows declared plans, an input for one
// that plans by a model. The demo belongs to the bundled example alone.
import type { AgentConfig } from '../config';
import type { Place } from './place';

/** The command that starts a run of this agent, without the leading `npx`. */
export const runOf = ({ name, planner }: Pick<AgentConfig, 'name' | 'planner'>): string => `longhaul run ${name} ${planner === 'declared' ? '--plan FILE' : '--input JSON'}`;

/** Commands that begin work here, the first to be tried first, without the leading `npx`. */
export async function firstRuns(place: Place): Promise<string[]> {
  const { config } = await place.config();
  const runs = config.agents.slice(0, 3).map(runOf);
  return await place.isExample() ? ['longhaul demo', ...runs] : runs;
}
