/** Returns what `work` returns, or `fallback` if `work` throws. */
export function tryOr<T, F>(work: () => T, fallback: F): T | F {
  try {
    return work();
  } catch {
    return fallback;
  }
}
