// Workflow code without the workflow of runs: a worker with it fails every workflow task of a run, as a wrong build would.
export async function somethingElse(): Promise<void> {
  await Promise.resolve();
}
