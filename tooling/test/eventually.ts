/**
 * How long tests wait for what must come. It comes at once; a machine that does much else may need minutes. So that no
 * test depends on being quick, the limits are set here and in vitest.config.ts, and single tests set none of their own.
 */
import { vi } from 'vitest';

/** Less than the time of a whole test, so that the failure says what was waited for. */
const eventuallyMs = 120_000;

/** `vi.waitFor` and `vi.waitUntil` give up after a second by themselves. */
const patient = (options: number | { timeout?: number; interval?: number } = {}) => ({
  ...(typeof options === 'object' && options),
  timeout: eventuallyMs,
});

const { waitFor, waitUntil } = vi;
vi.waitFor = (callback, options) => waitFor(callback, patient(options));
vi.waitUntil = (callback, options) => waitUntil(callback, patient(options));
