// A model behind the admission of its provider: one that is turned away is not asked, and hears when to come back.
// Owns nothing but that; what a failure means to a run is said by the activity and the law.
import { ModelError, type ModelPort } from '../ports/model';
import type { Admission, News, Turned } from './admission';
import { timedOut } from './heartbeat';

/** Thrown by `generate` of an admitted model in place of asking. */
export class TurnedAway extends Error {
  constructor(readonly turned: Turned) {
    super(turned.why);
  }
}

/** Who answers for a model: calls of all its models count together. */
const providerOf = (id: string): string => (id.startsWith('openai-compatible:') ? id.split('#')[0] : id.split(/[:@]/)[0]) ?? id;

/** @param most calls to the provider at once. */
export function admitted(port: ModelPort, admission: Admission, most: number): ModelPort {
  return {
    id: port.id,
    generate: async (request) => {
      const entered = admission.enter(`model provider ${providerOf(port.id)}`, most);
      if (entered.kind === 'busy') throw new TurnedAway(entered);
      let news: News = null;
      try {
        const answer = await port.generate(request);
        news = 'answered';
        return answer;
      } catch (error) {
        news = newsOf(error, request.signal);
        throw error;
      } finally {
        entered.leave(news);
      }
    },
  };
}

function newsOf(error: unknown, signal: AbortSignal): News {
  if (signal.aborted) return timedOut(signal) ? { class: 'network' } : null;
  return error instanceof ModelError ? error.failure : null;
}
