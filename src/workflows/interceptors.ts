// How Signals come in: straight into the line. The SDK's own way makes half a dozen promises for each, and notes
// where each of them was made: nine thousand Signals that arrived while no worker ran took twice the time that a workflow task
// has, so that the run never got anywhere. Code bundled without this does the same things in the same order, only slower.
// Owns no state of the run; the ear is set once the handlers are registered, and is of this execution alone.
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** A promise that has come true and costs nothing: what waits for it goes on as it would after one of the language's own. */
class Done implements Promise<void> {
  readonly [Symbol.toStringTag] = 'Done';

  then<A = void, B = never>(fulfilled?: ((value: void) => A | PromiseLike<A>) | null, rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<A | B> {
    return Promise.resolve().then(fulfilled, rejected);
  }

  catch(): this {
    return this;
  }

  finally(after?: (() => void) | null): this {
    after?.();
    return this;
  }
}

const DONE = new Done();
type Hear = (name: string, payload: unknown) => void;
const ear: { hear?: Hear } = {};

/** From here on `hear` is given what each Signal holds, in the order in which they came. It must not throw. */
export function listen(hear: Hear): void {
  ear.hear = hear;
}

export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [{
    handleSignal({ signalName, args, headers }, next) {
      if (!ear.hear) return next({ signalName, args, headers });
      ear.hear(signalName, args[0]);
      return DONE;
    },
  }],
});
