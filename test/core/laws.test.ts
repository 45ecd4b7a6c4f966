// The invariants of the law on random walks: any commands, stale and made up ones among them, in any order.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { canonical } from '../../src/core/canonical';
import type { Command } from '../../src/core/commands';
import type { RunEvent } from '../../src/core/events';
import { evolve, fold } from '../../src/core/evolve';
import { initialState } from '../../src/core/initial';
import { callsOf } from '../../src/core/lookups';
import { NO_USAGE, add, budgetLeft } from '../../src/core/rules/budgets';
import type { State } from '../../src/core/state';
import { pageOf, rowOf } from '../../src/core/summary';
import { turn } from '../../src/core/turn';
import { Random } from '../../src/testing/random';
import { walk } from './support/walk';

const seeds = fc.integer({ min: 1, max: 1_000_000_000 });
const always = (check: (seed: number) => void, numRuns: number): void => fc.assert(fc.property(seeds, check), { numRuns });

test('I1 the core names no clock, no chance and no I/O', () => {
  const root = path.join(__dirname, '../../src/core');
  for (const file of readdirSync(root, { recursive: true }).map(String).filter((name) => name.endsWith('.ts') && name !== 'iso.ts')) {
    expect([file, readFileSync(path.join(root, file), 'utf8').replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '').match(/\b(Date\.now|new Date|Math\.random|setTimeout|performance\.|process\.|require\(|async |await )/)?.[0]]).toEqual([file, undefined]);
  }
});

test('I1 the same state, commands and time give the same bytes', () => {
  always((seed) => {
    const { commands } = walk(seed);
    for (const { command, before, now } of commands) expect(canonical(turn(before, [command], now))).toBe(canonical(turn(JSON.parse(canonical(before)) as State, [command], now)));
  }, 25);
});

test('I3 the draft of a turn is the fold of its events, and no turn changes the state that it was given', () => {
  always((seed) => {
    for (const { command, before, now } of walk(seed).commands) {
      const text = canonical(before);
      const result = turn(before, [command], now);
      expect(canonical(fold(before, result.events))).toBe(canonical(result.draft));
      expect(canonical(before)).toBe(text);
    }
  }, 25);
});

test('I2 every need that is handed out is begun: its request stands among the events', () => {
  always((seed) => {
    const { commands, events } = walk(seed);
    const requests = new Set(events.flatMap((event) => (event.type === 'ToolCallRequested' || event.type === 'ModelCallRequested' ? [`${event.data.callId}#${event.data.attempt}`] : [])));
    for (const { command, before, now } of commands) {
      for (const need of turn(before, [command], now).needs) {
        expect(need.begun).toBe(true);
        if (need.kind === 'call' || need.kind === 'model') expect(requests).toContain(`${need.callId}#${need.attempt}`);
      }
    }
  }, 40);
});

test('ids of needs are never twice among the needs of one moment', () => {
  always((seed) => {
    for (const { command, before, now } of walk(seed).commands) {
      const ids = turn(before, [command], now).needs.map((need) => need.id);
      expect(new Set(ids).size).toBe(ids.length);
    }
  }, 25);
});

test('I10 a checkpoint at any version and the events after it give the live state, byte for byte', () => {
  always((seed) => {
    const { events, last } = walk(seed, 25);
    const live = canonical(last);
    let state: State = initialState('run-1');
    for (const [i, event] of events.entries()) {
      state = evolve(state, event);
      const tail = events.slice(i + 1).map((one) => JSON.parse(JSON.stringify(one)) as RunEvent);
      expect(canonical(fold(JSON.parse(canonical(state)) as State, tail))).toBe(live);
    }
  }, 12);
});

test('I10 a run goes on alike from live state and from a checkpoint', () => {
  always((seed) => {
    const { commands } = walk(seed);
    const middle = commands[Math.floor(commands.length / 2)]!;
    let live = middle.before;
    let restored = JSON.parse(canonical(live)) as State;
    for (const { command, now } of commands.slice(commands.indexOf(middle))) {
      const [a, b] = [turn(live, [command], now), turn(restored, [command], now)];
      expect(canonical(a)).toBe(canonical(b));
      [live, restored] = [a.draft, JSON.parse(canonical(b.draft)) as State];
    }
  }, 25);
});

/** A made-up answer to a request that only this very turn makes: nothing in the world can answer before it is asked. */
const foresees = (command: Command, events: readonly RunEvent[]): boolean => 'attempt' in command && events.some(({ type, data }) =>
  (type === 'ToolCallRequested' || type === 'ModelCallRequested') && data.callId === command.callId && data.attempt === command.attempt);

test('I12 every command applied twice yields nothing new and the same answer', () => {
  always((seed) => {
    for (const { command, before, now } of walk(seed).commands) {
      const once = turn(before, [command], now);
      if (foresees(command, once.events)) continue;
      const twice = turn(once.draft, [command], now);
      expect(twice.events).toEqual([]);
      if (before.end === null && once.draft.end === null) expect(twice.answers).toEqual(once.answers);
    }
  }, 60);
});

test('I12 no two events of a run carry the same idempotency key', () => {
  always((seed) => {
    const keys = walk(seed).events.flatMap((event) => event.idempotencyKey ?? []);
    expect(new Set(keys).size).toBe(keys.length);
  }, 60);
});

test('I6 in whatever order its commands come again, a run that has ended writes nothing', () => {
  let ended = 0;
  always((seed) => {
    const { commands, last, now } = walk(seed, 120);
    if (!last.end) return;
    ended += 1;
    const again = new Random(seed).shuffled(commands.map(({ command }) => command));
    expect(turn(last, again, now + 1_000_000_000).events).toEqual([]);
    expect(turn(last, [], now + 1_000_000_000).needs).toEqual([]);
  }, 60);
  expect(ended).toBeGreaterThan(10);
});

test('I12 the same commands in another order and in other batches end in a state that folds alike', () => {
  always((seed) => {
    const random = new Random(seed);
    const { commands, now } = walk(seed);
    const [first, ...rest] = commands.map(({ command }) => command);
    let state = turn(initialState('run-1'), first ? [first] : [], now).draft;
    const events = turn(initialState('run-1'), first ? [first] : [], now).events;
    const left = random.shuffled([...rest, ...rest]);
    while (left.length > 0) {
      const result = turn(state, left.splice(0, random.int(1, 10)), now + random.int(0, 600_000));
      events.push(...result.events);
      state = result.draft;
    }
    expect(canonical(fold(initialState('run-1'), events))).toBe(canonical(state));
  }, 25);
});

test('I7 evolve takes any events in any order, of other runs and of types that it does not know, and never throws', () => {
  always((seed) => {
    const random = new Random(seed);
    const names = ['constructor', '__proto__', 'c1', 's0', ''];
    const bent = (event: RunEvent): RunEvent => {
      const data = { ...event.data } as Record<string, unknown>;
      for (const name of Object.keys(data)) if (name.endsWith('Id') && random.chance(0.3)) data[name] = random.pick(names);
      return { ...event, seq: random.int(0, 99), at: random.int(-5, 5), data } as RunEvent;
    };
    const pile = random.shuffled([...walk(seed).events, ...walk(seed + 1).events, ...walk(seed + 2).events].map(bent));
    const strange = { ...pile[0], type: 'FromTheFuture', data: null } as unknown as RunEvent;
    const state = fold(initialState('run-1'), [strange, ...pile, strange]);
    expect(typeof canonical(state)).toBe('string');
    expect(rowOf(state).runId).toBe('run-1');
    expect(pageOf(state)).toContain('is');
    expect(turn(state, [], 1_700_000_000_000).draft.version).toBeGreaterThanOrEqual(0);
  }, 60);
});

test('budgets are whole numbers, never negative, and what is set aside is what open calls have set aside', () => {
  always((seed) => {
    for (const state of walk(seed).states) {
      expect(state.reserved).toEqual(callsOf(state).reduce((sum, call) => add(sum, call.reserved), NO_USAGE));
      for (const amount of [...Object.values(state.spent), ...Object.values(budgetLeft(state)), state.activeMs]) expect(Number.isSafeInteger(amount) && amount >= 0).toBe(true);
    }
  }, 40);
});

test('no call with an effect is requested a second time without a look, a failure or a retry between', () => {
  always((seed) => {
    const open = new Map<string, string>();
    for (const event of walk(seed, 80).events) {
      if (event.type === 'ToolCallRequested' && event.data.key !== '') {
        expect(open.get(event.data.key)).not.toBe('ToolCallRequested');
        open.set(event.data.key, event.type);
      } else if ('callId' in event.data) for (const key of open.keys()) if (key && callOf(walk(seed, 80).events, key) === event.data.callId) open.set(key, event.type);
    }
  }, 10);
});

function callOf(events: RunEvent[], key: string): string | undefined {
  const found = events.find((event) => event.type === 'ToolCallRequested' && event.data.key === key);
  return found?.type === 'ToolCallRequested' ? found.data.callId : undefined;
}

test('a key belongs to one call, and all attempts at a call share it', () => {
  always((seed) => {
    const calls = new Map<string, string>();
    for (const event of walk(seed, 80).events) {
      if (event.type !== 'ToolCallRequested' || event.data.key === '') continue;
      expect(calls.get(event.data.callId) ?? event.data.key).toBe(event.data.key);
      calls.set(event.data.callId, event.data.key);
    }
    expect(new Set(calls.values()).size).toBe(calls.size);
  }, 40);
});
