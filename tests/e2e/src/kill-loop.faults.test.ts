import { temporaryPostgres } from '@countersign/testing';
import { expect, it } from 'vitest';
import { postgresDatabase, sqliteDatabase } from '../../lab/src/test-database.ts';
import { killLoop } from './server-kills/kill-loop.ts';

const kills = process.env.FAULTS_AT === undefined ? 200 : 1;

/**
 * After every kill: no call is lost or executed twice, no approval is forgotten, a client that reconnects gets every
 * event once and in order, the audit chain is unbroken, and the model is not asked again for a stored answer.
 */
it('[AP-10] [EX-6] [EV-2] [AG-2] survives kill -9 at every labelled point on SQLite', {
  timeout: 900_000,
}, async () => {
  const report = await killLoop('SQLite', sqliteDatabase);
  expect(report.unreached).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(kills);
});

it('[AP-10] [EX-6] [EV-2] [AG-2] … and on PostgreSQL', { timeout: 900_000 }, async () => {
  const postgres = await temporaryPostgres();
  try {
    const report = await killLoop('PostgreSQL', () => postgresDatabase(postgres));
    expect(report.unreached).toEqual([]);
    expect(report.kills).toBeGreaterThanOrEqual(kills);
  } finally {
    await postgres.stop();
  }
});
