import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { personsFolders, workspaceAt } from '@countersign/tool-runner';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { main } from './main.ts';
import type { Terminal } from './terminal.ts';

let folder: string;
let database: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-audit-'));
  database = join(folder, 'countersign.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The tables and the hash are written out: an auditor's own program relies on both. */
function writeLog(rows: readonly { user: string; action: string; data: string }[]): string {
  const sqlite = new DatabaseSync(database);
  sqlite.exec(`
    create table counters (user_id text, event_id integer, audit_seq integer, audit_head text);
    create table audit (user_id text, seq integer, at integer, action text, subject text, data text,
      previous_hash text, hash text)`);
  let previous = '0'.repeat(64);
  rows.forEach(({ user, action, data }, index) => {
    const text = `["${previous}","${user}",${index + 1},1700000000000,"${action}","approval-1",${data}]`;
    const hash = createHash('sha256').update(text).digest('hex');
    sqlite
      .prepare('insert into audit values (?, ?, 1700000000000, ?, ?, ?, ?, ?)')
      .run(user, index + 1, action, 'approval-1', data, previous, hash);
    previous = hash;
  });
  sqlite.prepare('insert into counters values (?, 0, ?, ?)').run(rows[0]?.user ?? '', rows.length, previous);
  sqlite.close();
  return previous;
}

const decisions = [
  { user: 'ada', action: 'approval.approved', data: '{"device":"phone"}' },
  { user: 'ada', action: 'approval.rejected', data: '{"a":1,"b":[null,true]}' },
];

const run = (...argv: readonly string[]) => runIn(process.env, ...argv);

async function runIn(
  env: Readonly<Record<string, string | undefined>>,
  ...argv: readonly string[]
): Promise<{ status: number; out: string; error: string }> {
  let out = '';
  let error = '';
  const terminal: Terminal = {
    stdin: (async function* () {})(),
    write: async (text) => {
      out += text;
    },
    writeError: (text) => {
      error += text;
    },
    color: false,
    interactive: false,
    async *typed() {},
  };
  const status = await main(['audit', ...argv], terminal, env);
  return { status, out, error };
}

it('[DA-4] says that a log is intact, and accepts its head as a witness', async () => {
  const head = writeLog(decisions);
  const verified = { status: 0, out: `ok      ada: 2 rows, head ${head}\n`, error: '' };
  expect(await run('verify', '--database', database)).toEqual(verified);
  expect(await run('verify', '--database', database, '--user', 'ada', '--witness', head)).toEqual(verified);
  // The form in which runners get the head: with the row's number.
  expect(await run('verify', '--database', database, '--user', 'ada', '--witness', `1:${head}`)).toEqual(
    verified,
  );
});

it('[DA-4] names the first row that is not as it was written', async () => {
  writeLog(decisions);
  const sqlite = new DatabaseSync(database);
  sqlite.exec(`update audit set action = 'approval.approved' where seq = 2`);
  sqlite.close();
  expect(await run('verify', '--database', database)).toEqual({
    status: 1,
    out: 'BROKEN  ada: row 2. The row was changed.\n',
    error: '',
  });
  const { out } = await run('verify', '--database', database, '--json');
  expect(JSON.parse(out)).toEqual({ user_id: 'ada', ok: false, seq: 2, problem: 'The row was changed.' });
  // Output for a person is translated; output for programs is always the same.
  const russian = { ...process.env, LC_ALL: 'ru_RU.UTF-8' };
  expect((await runIn(russian, 'verify', '--database', database)).out).toBe(
    'НАРУШЕН    ada: строка 2. Строка изменена.\n',
  );
  expect((await run('verify', '--database', database, '--lang', 'ru')).out).toMatch(/^НАРУШЕН/);
  expect((await runIn(russian, 'verify', '--database', database, '--json')).out).toBe(out);
});

it('[DA-4] exports NDJSON and CSV', async () => {
  const head = writeLog(decisions);
  const { out } = await run('export', '--database', database);
  expect(
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).hash),
  ).toEqual([expect.any(String), head]);
  const csv = await run('export', '--database', database, '--format', 'csv', '--user', 'ada');
  expect(csv.out.split('\r\n')[1]).toMatch(
    /^ada,1,1700000000000,approval.approved,approval-1,"\{""device"":""phone""\}",0{64},[0-9a-f]{64}$/,
  );
});

it.each([
  [['verify'], 'Which database?'],
  [['verify', '--database', '/no/such/file.db'], 'There is no database "/no/such/file.db"'],
  [['export', '--database', '/dev/null', '--format', 'xml'], 'There is no format "xml"'],
  [['verify', '--database', '/dev/null', '--witness', 'aa'], 'A witness speaks for one person'],
  [['shred'], 'There is no "audit shred"'],
])('says what is wrong with %j', async (argv, problem) => {
  const { status, error } = await run(...argv);
  expect(status).toBe(2);
  expect(error).toContain(problem);
});

it('reports a file that is not a database', async () => {
  const { status, error } = await run('verify', '--database', import.meta.filename);
  expect(status).toBe(1);
  expect(error).toContain('file is not a database');
});

it('explains itself', async () => {
  expect((await run('--help')).out).toContain('countersign audit verify');
});

it('without a database says where that of this directory is', async () => {
  const env = { HOME: folder };
  expect(await runIn(env, 'verify')).toMatchObject({ status: 2, error: expect.not.stringContaining(folder) });
  const { stateFolder } = workspaceAt('.', { folders: personsFolders(env) });
  mkdirSync(join(stateFolder, 'server'), { recursive: true });
  writeFileSync(join(stateFolder, 'server/countersign.db'), '');
  expect(await runIn(env, 'verify')).toMatchObject({
    status: 2,
    error: expect.stringContaining(`for this directory is ${stateFolder}/server/countersign.db`),
  });
});
