/** The value of a promise, or undefined if it takes longer than `ms`. The work itself goes on. */
export async function within<T>(ms: number, awaited: Promise<T>): Promise<T | undefined> {
  const { promise: tooLate, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([awaited, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
