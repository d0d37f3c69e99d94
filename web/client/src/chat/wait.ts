/** Resolves after a time; earlier if the network is back or the page is looked at again. Rejects when aborted. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let unwake: (() => void) | undefined;
  const waited = new Promise<void>((resolve, reject) => {
    // A page without a network waits for it instead of using up its attempts.
    if (globalThis.navigator?.onLine !== false) timer = setTimeout(resolve, milliseconds);
    const stop = () => reject(signal.reason);
    unwake = onWake(resolve);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
  });
  return waited.finally(() => {
    clearTimeout(timer);
    unwake?.();
  });
}

/** Calls `listener` when the network is back and when the page becomes visible. Does nothing outside of a browser. */
export function onWake(listener: () => void): () => void {
  const { document } = globalThis;
  const visible = () => document.visibilityState === 'visible' && listener();
  // Not with the option `signal`: `jsdom` refuses the signals of Node.
  globalThis.addEventListener?.('online', listener);
  document?.addEventListener('visibilitychange', visible);
  return () => {
    globalThis.removeEventListener?.('online', listener);
    document?.removeEventListener('visibilitychange', visible);
  };
}

/** Doubles from a quarter of a second up to ten seconds; half of it by chance, so that pages do not come in step. */
export function backoff(attempt: number): number {
  return Math.min(10_000, 250 * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
}
