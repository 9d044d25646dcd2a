/**
 * How long tests wait for something that must happen. It happens at once, but a busy machine may need minutes. No test
 * may depend on speed, so the limits are set here and in vitest.config.ts, and single tests set none of their own.
 */
import { vi } from 'vitest';

/** Shorter than a test's own limit, so that the failure says what the test waited for. */
const waitLimitMs = 120_000;

/** The default of `vi.waitFor` and `vi.waitUntil` is one second. */
const withLimit = (options: number | { timeout?: number; interval?: number } = {}) => ({
  ...(typeof options === 'object' && options),
  timeout: waitLimitMs,
});

const { waitFor, waitUntil } = vi;
vi.waitFor = (callback, options) => waitFor(callback, withLimit(options));
vi.waitUntil = (callback, options) => waitUntil(callback, withLimit(options));
