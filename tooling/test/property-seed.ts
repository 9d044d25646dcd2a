/** Property tests use the same inputs in every run; `PROPERTY_SEED=7` uses others. */
import { env } from 'node:process';
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(env.PROPERTY_SEED ?? 1) });
