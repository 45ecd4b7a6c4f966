// Interceptors of workflow code as a library for tracing adds them: they count what passes and put a header on it, and ask Temporal
// for nothing. With the name `a timer of its own` planted, activities wait for one first: what a newer version of a library may do.
import { sleep, type WorkflowInterceptorsFactory } from '@temporalio/workflow';

const planted = (): boolean => (globalThis as { planted?: string }).planted === 'a timer of its own';

export const interceptors: WorkflowInterceptorsFactory = () => {
  let passed = 0;
  const traced = <T extends { headers: object }>(input: T): T => ({ ...input, headers: { ...input.headers, trace: { metadata: {}, data: new Uint8Array([(passed += 1) % 256]) } } });
  return {
    inbound: [{
      execute: async (input, next) => next(traced(input)),
      handleSignal: async (input, next) => next(traced(input)),
      handleUpdate: async (input, next) => next(traced(input)),
    }],
    outbound: [{
      scheduleActivity: async (input, next) => {
        if (planted()) await sleep(1);
        return next(traced(input));
      },
      scheduleLocalActivity: async (input, next) => next(traced(input)),
      startTimer: async (input, next) => { passed += 1; return next(input); },
      continueAsNew: async (input, next) => next(traced(input)),
    }],
  };
};
