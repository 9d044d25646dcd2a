/** What is waited for, or undefined when it does not come in time. It goes on, and nobody hears of it. */
export async function within<T>(ms: number, awaited: Promise<T>): Promise<T | undefined> {
  const { promise: tooLate, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([awaited, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
