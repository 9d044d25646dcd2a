import type { Clock } from '../clock.ts';

/** Resolves with the promise, or rejects as soon as the signal is aborted, whichever is first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) {
      promise.catch(() => {}); // its end is nobody's any more
      return abort();
    }
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Waits in monotonic time. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  let cancel = () => {};
  try {
    await orAborted(new Promise<void>((resolve) => (cancel = clock.after(ms, resolve))), signal);
  } finally {
    cancel();
  }
}
