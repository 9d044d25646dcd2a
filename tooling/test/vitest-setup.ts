/** Settings that Vitest loads before each test file. */
import { env } from 'node:process';
import fc from 'fast-check';
import { vi } from 'vitest';

// Property tests use the same inputs in every run; `PROPERTY_SEED=7` uses others.
fc.configureGlobal({ seed: Number(env.PROPERTY_SEED ?? 1) });

/**
 * How long tests wait for something that must happen. It happens at once, but a busy machine may need minutes. No test
 * may depend on speed, so the limits are set here and in vitest.config.ts, and single tests set none of their own. This
 * one is shorter than a test's own limit, so that the failure says what the test waited for.
 */
const waitLimitMs = 120_000;

/** The default of `vi.waitFor` and `vi.waitUntil` is one second. */
const withLimit = (options: number | { timeout?: number; interval?: number } = {}) => ({
  ...(typeof options === 'object' && options),
  timeout: waitLimitMs,
});

// Test files that share a process load this file again; wrap only once.
const isWrapped = Symbol.for('countersign.wait-limit');
if (!(isWrapped in vi)) {
  const { waitFor, waitUntil } = vi;
  vi.waitFor = (callback, options) => waitFor(callback, withLimit(options));
  vi.waitUntil = (callback, options) => waitUntil(callback, withLimit(options));
  Object.assign(vi, { [isWrapped]: true });
}
