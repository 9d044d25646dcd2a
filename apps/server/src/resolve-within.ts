/** Resolves with the value of a promise, or with undefined after `ms`. Does not stop the work itself. */
export async function resolveWithin<T>(ms: number, awaited: Promise<T>): Promise<T | undefined> {
  const { promise: tooLate, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([awaited, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
