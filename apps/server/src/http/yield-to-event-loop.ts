import { setImmediate } from 'node:timers/promises';

/**
 * Between two pieces of work that take long: whatever came in meanwhile is served first. One turn alone would come before
 * the sockets are looked at again.
 */
export async function yieldToEventLoop(): Promise<void> {
  await setImmediate();
  await setImmediate();
}
