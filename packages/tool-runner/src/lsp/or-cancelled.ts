import { ExecutionCancelled } from '../runner-errors.ts';

/** Whoever cancels stops waiting at once; what was waited for goes on for others. */
export async function orCancelled<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: cancelled, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(new ExecutionCancelled());
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([promise, cancelled]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    cancelled.catch(() => {});
  }
}
