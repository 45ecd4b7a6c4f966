// A model that answers from a script, for tests of agents: each call takes the next answer, or the first whose `when` fits.
// It is a ModelPort like any other; what it was asked is kept in `asked`. A script that has run out is a failure with a name.
import type { Json } from '../core/canonical';
import type { Failure } from '../core/failure';
import { ModelError, type ModelAnswer, type ModelPort, type ModelRequest, type ModelToolCall } from '../ports/model';

/** One answer of a script. */
export interface ScriptedAnswer {
  /** Takes this answer only for a request that fits; left out, it is taken in its turn. */
  when?: (request: ModelRequest, turn: number) => boolean;
  text?: string;
  /** Tool calls; an id is made up where it is left out. */
  calls?: (Omit<ModelToolCall, 'id'> & { id?: string })[];
  finish?: ModelAnswer['finish'];
  /** Tokens used; default 10. */
  tokens?: number;
  /** Price in micro-units of US dollars; default 0. */
  microUsd?: number;
  /** The call fails with this instead. */
  fails?: Failure;
  /** May be taken again and again. */
  always?: boolean;
}

export interface ScriptedModel extends ModelPort {
  /** Every request that it was asked, oldest first. */
  readonly asked: readonly ModelRequest[];
  /** Answers that were not taken yet. */
  left(): number;
}

/** A call of a tool in a script. */
export const callTo = (tool: string, args: Json): Omit<ModelToolCall, 'id'> => ({ tool, args });

/** @param id what is pinned in the run, e.g. `script:happy`. */
export function scriptedModel(id: string, script: readonly ScriptedAnswer[]): ScriptedModel {
  const left = [...script];
  const asked: ModelRequest[] = [];
  return {
    id, asked,
    left: () => left.filter((answer) => !answer.always).length,
    generate: async (request) => {
      asked.push(request);
      const index = left.findIndex((answer) => answer.when === undefined || answer.when(request, asked.length));
      const answer = left[index];
      if (!answer) throw new ModelError({ class: 'argument', code: 'script-over', message: `The script of ${id} has no answer for request ${asked.length}; add one.` });
      if (!answer.always) left.splice(index, 1);
      if (answer.fails) throw new ModelError(answer.fails);
      return answerOf(answer, asked.length);
    },
  };
}

function answerOf({ text = '', calls = [], finish, tokens = 10, microUsd = 0 }: ScriptedAnswer, turn: number): ModelAnswer {
  return {
    text, finish: finish ?? (calls.length > 0 ? 'tool-calls' : 'stop'), usage: { tokens, microUsd },
    calls: calls.map((call, i) => ({ id: `script-${turn}-${i + 1}`, ...call })),
  };
}
