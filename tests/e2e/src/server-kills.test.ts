import { expect, it } from 'vitest';
import { sqliteDatabase } from '../../lab/src/test-database.ts';
import { killLoop } from './server-kills/kill-loop.ts';

/** The first kills of the loop that `npm run test:faults -- --kill-loop` runs completely. */
it('[AP-10] [EX-6] [EV-2] [AG-2] survives kill -9 at some of the labelled points', async () => {
  const report = await killLoop('SQLite', sqliteDatabase, { atMost: 24 });
  expect(report).toEqual({ kills: 24, unreached: [] });
});
