// Hears when the npx or `npm start` that launched this process is gone: npm hands a TERM to a shell between them, which dies
// without passing it on, and what was started here would run for nobody. A process that no npm launched is left alone.
const LAUNCHERS: ReadonlySet<string> = new Set(['exec', 'start']);
/** ms between two looks at who the parent is. */
const LOOK_MS = 500;

/** Calls `stop` once when the launcher is gone; answers how to stop listening. */
export function onLauncherGone(stop: () => void): () => void {
  if (!LAUNCHERS.has(process.env.npm_command ?? '')) return () => undefined;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
