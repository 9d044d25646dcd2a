/** How long to wait before the next attempt. Jitter only adds, so we never come sooner than the server asked. */
export interface Backoff {
  readonly firstMs: number;
  /** Without jitter. */
  readonly maxMs: number;
}

const jitterShare = 0.5;

/** `tries` counts failed attempts, from 1; `atLeastMs` is what the server asked for; `random` is in 0…1. */
export function backoffMs(
  { firstMs, maxMs }: Backoff,
  tries: number,
  atLeastMs: number,
  random: number,
): number {
  const doubled = Math.min(firstMs * 2 ** (tries - 1), maxMs);
  return Math.round(Math.max(doubled, atLeastMs) * (1 + jitterShare * random));
}
