import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { InProcessBus, openSqliteStore, type SqliteStore } from '@countersign/store';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AuditRequest, reportAudit } from './audit-report.ts';

let folder: string;
let database: string;
let store: SqliteStore;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-audit-'));
  database = join(folder, 'countersign.db');
  store = await openSqliteStore({ path: database, bus: new InProcessBus(), now: () => 1_700_000_000_000 });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const log = (userId: string, subject: string) =>
  // biome-ignore lint/correctness/useYield: nothing but an announcement
  store.write(function* (tx) {
    tx.announce(userId, { audit: [{ action: 'token.made', subject, data: null }] });
  });

async function report(request: Partial<AuditRequest>): Promise<{ status: number; lines: readonly string[] }> {
  const lines: string[] = [];
  const status = await reportAudit(
    { action: 'verify', database, format: 'ndjson', json: false, ...request },
    async (text) => void lines.push(text),
  );
  return { status, lines };
}

it('[DA-4] reads everybody’s log while the server has the database open', async () => {
  expect(await report({})).toEqual({ status: 0, lines: ['The audit log is empty.\n'] });
  await log('ada', 't1');
  await log('grace', 't2');
  const { status, lines } = await report({});
  expect(status).toBe(0);
  expect(lines.map((line) => line.slice(0, 16))).toEqual(['ok      ada: 1 r', 'ok      grace: 1']);
  expect((await report({ action: 'export', user: 'grace' })).lines).toHaveLength(1);
  expect((await report({ action: 'export', format: 'csv' })).lines).toHaveLength(3);
});

it('[DA-4] ends with 1 when one of them is broken, and checks the others all the same', async () => {
  await log('ada', 't1');
  await log('grace', 't2');
  const owner = new DatabaseSync(database);
  owner.exec(`drop trigger audit_no_update; update audit set subject = 'x' where user_id = 'ada'`);
  owner.close();
  const { status, lines } = await report({ json: true });
  expect(status).toBe(1);
  expect(lines.map((line) => JSON.parse(line).ok)).toEqual([false, true]);
  expect((await report({ user: 'ada' })).lines).toEqual(['BROKEN  ada: row 1. The row was changed.\n']);
});

it('[DA-4] a CSV keeps line breaks and quotes, and has nothing that a spreadsheet would run', async () => {
  await log('=1+1', '@SUM(A1)');
  await log('ada', 'two\nlines, "quoted"');
  const { lines } = await report({ action: 'export', format: 'csv' });
  expect(lines.slice(1).map((line) => line.slice(0, line.lastIndexOf(',null,')))).toEqual([
    `'=1+1,1,1700000000000,token.made,'@SUM(A1)`,
    'ada,1,1700000000000,token.made,"two\nlines, ""quoted"""',
  ]);
  // What programs read is what was recorded.
  const json = (await report({ action: 'export' })).lines.map((line) => JSON.parse(line));
  expect(json.map(({ user_id }) => user_id)).toEqual(['=1+1', 'ada']);
});

it.each([
  [`update audit set data = '{nope' where user_id = 'ada' and seq = 2`, 'row 2. The row cannot be read.'],
  [
    `insert into audit select user_id, -1, at, action, subject, data, previous_hash, hash from audit
     where user_id = 'ada' and seq = 2`,
    'row -1. The row was put in.',
  ],
])('[DA-4] says which row was spoilt, and checks the others: %s', async (tampering, verdict) => {
  for (const subject of ['t1', 't2', 't3']) await log('ada', subject);
  await log('grace', 't4');
  const owner = new DatabaseSync(database);
  owner.exec(`drop trigger audit_no_update; ${tampering}`);
  owner.close();
  const { status, lines } = await report({});
  expect(status).toBe(1);
  expect(lines.map((line) => line.slice(0, 60).trim())).toEqual([
    `BROKEN  ada: ${verdict}`,
    expect.stringMatching(/^ok {6}grace: 1 rows/),
  ]);
});
