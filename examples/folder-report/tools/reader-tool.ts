// What all readers of the folder share: effect none, the folder from the run's input (never from the model), and refusals of
// the rooms below turned into tool errors.
import type { z } from 'zod';
import { defineTool, ToolError, type ToolCall, type ToolDefinition } from 'longhaul';
import { folderOf } from '../folder/folder';
import { Refusal } from '../folder/refusal';

export interface FolderOptions {
  /** Real paths under which a run's folder must lie; any folder that exists when left out. */
  allowedRoots?: string[];
}

interface Reader<A, R> {
  name: string;
  description: string;
  input: z.ZodType<A>;
  /** `root` is the real path of the run's folder. */
  read: (root: string, args: A, call: ToolCall) => Promise<R>;
}

/** A tool with effect `none` over the run's folder. */
export function readerTool<A, R>({ name, description, input, read }: Reader<A, R>, options: FolderOptions): ToolDefinition<A, R> {
  return defineTool<A, R>({
    name, description, input, version: '1.0.0', effect: 'none', timeoutMs: 60_000, concurrency: 16,
    execute: (args, call) => withToolErrors(async () => read(await folderOf(call.input, options.allowedRoots), args, call)),
  });
}

/** Runs `act`; a refusal leaves it as a ToolError of the same class. */
export async function withToolErrors<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw error instanceof Refusal ? new ToolError(error.failureClass, error.code, error.message) : error;
  }
}
