import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FileChange } from '../files/file-snapshot.ts';
import type { ResultReport } from '../runner-api.ts';
import { Journal } from './journal.ts';

const DAY = 24 * 60 * 60 * 1000;
let folder: string;
let now: number;
const journals: Journal[] = [];

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'countersign-journal-')), 'state');
  now = Date.parse('2026-11-15T12:00:00Z');
});
afterEach(() => {
  for (const journal of journals.splice(0)) journal.close();
  rmSync(join(folder, '..'), { recursive: true });
});

function open(): Journal {
  const journal = Journal.open({ folder, holder: { program: 'a test' }, now: () => now });
  journals.push(journal);
  return journal;
}

const report: ResultReport = {
  status: 'completed',
  result: { success: true },
  attempt: 1,
  execution_time_ms: 5,
};
const change = (path: string): FileChange => ({
  path,
  operation: 'modified',
  before: 'sha256:a',
  after: 'sha256:b',
  original: { bytes: Buffer.from(`was ${path}`), mode: 0o640 },
});
const copies = () => readdirSync(join(folder, 'undo'));

it('keeps attempts, results and acknowledgements over a restart', () => {
  const first = open();
  first.start('a', 1, 'write_file');
  first.start('b', 1, 'write_file');
  first.end('b', 1, report);
  first.start('c', 2, 'shell_exec');
  first.end('c', 2, report);
  first.acknowledge('c', 2);
  first.close();
  const second = open();
  expect(second.unfinished()).toEqual([{ toolId: 'a', attempt: 1, tool: 'write_file', report: undefined }]);
  expect(second.unacknowledged().map(({ toolId, report: kept }) => [toolId, kept])).toEqual([['b', report]]);
  expect(second.attempt('c', 2)?.report).toEqual(report);
  expect(second.attempt('c', 1)).toBe(undefined);
});

it('an attempt is started once', () => {
  const journal = open();
  journal.start('a', 1, 'write_file');
  expect(() => journal.start('a', 1, 'write_file')).toThrow('cannot write its journal');
});

it('[RN-3] keeps what undo needs, in order, for this person only', () => {
  const journal = open();
  journal.start('a', 1, 'write_file');
  journal.recordChanges('a', 1, [change('x.md')]);
  journal.recordChanges('a', 1, [
    { ...change('new.md'), operation: 'created', before: null, original: undefined },
  ]);
  const [first, second] = journal.changesOf('a');
  expect(first).toMatchObject({
    path: 'x.md',
    position: 0,
    mode: 0o640,
    before: 'sha256:a',
    isUndone: false,
  });
  expect(second).toMatchObject({ path: 'new.md', position: 1, mode: undefined, copy: undefined });
  expect(journal.originalOf(first?.copy as string).toString()).toBe('was x.md');
  expect(() => journal.originalOf('missing')).toThrow('cannot write its journal');
  const modeOf = (...path: string[]) => (statSync(join(folder, ...path)).mode & 0o777).toString(8);
  expect([modeOf(), modeOf('undo'), modeOf('journal.sqlite'), modeOf('undo', first?.copy as string)]).toEqual(
    ['700', '700', '600', '600'],
  );
});

it.each([
  ['WRITE_FAILED', 0],
  ['RUNNER_LOST', 1],
  ['EXECUTION_FAILED', 1],
] as const)('what failed as %s leaves %i changes to undo', (code, left) => {
  const journal = open();
  journal.start('a', 1, 'write_file');
  journal.recordChanges('a', 1, [change('x.md')]);
  journal.end('a', 1, { ...report, status: 'failed', error: { code, message: '', recoverable: false } });
  expect(journal.changesOf('a').length).toBe(left);
});

it('changes and copies are written together or not at all', () => {
  const journal = open();
  journal.start('a', 1, 'write_file');
  const broken = { ...change('y.md'), path: undefined as unknown as string };
  expect(() => journal.recordChanges('a', 1, [change('x.md'), broken])).toThrow('cannot write its journal');
  expect(journal.changesOf('a')).toEqual([]);
  journal.prune();
  expect(copies()).toEqual([]);
});

it('forgets what was acknowledged after 7 days, and what undo needs after 30', () => {
  const journal = open();
  for (const id of ['old', 'owed', 'open']) journal.start(id, 1, 'write_file');
  for (const id of ['old', 'owed', 'open']) journal.recordChanges(id, 1, [change(`${id}.md`)]);
  for (const id of ['old', 'owed']) journal.end(id, 1, report);
  journal.acknowledge('old', 1);
  journal.recordDecision({ approvalId: 'approval', toolId: 'old', digest: 'sha256:d' });
  journal.startUndo('undo', ['old']);
  journal.endUndo('undo', report);
  journal.acknowledgeUndo('undo');
  now += 7 * DAY;
  journal.prune();
  expect(journal.attempt('old', 1)?.toolId).toBe('old');
  now += 1;
  journal.prune();
  expect(journal.attempt('old', 1)).toBe(undefined);
  expect(journal.undo('undo')).toBe(undefined);
  expect(journal.unacknowledged().map(({ toolId }) => toolId)).toEqual(['owed']);
  expect(copies().length).toBe(3);
  now += 23 * DAY;
  journal.prune();
  expect(['old', 'owed', 'open'].map((id) => journal.changesOf(id).length)).toEqual([0, 0, 1]);
  expect(copies().length).toBe(1);
});

it('[RN-2] [EX-6] a decision made here counts for its own call, for 10 minutes, and starts one attempt', () => {
  const journal = open();
  const decide = () => journal.recordDecision({ approvalId: 'p', toolId: 'a', digest: 'sha256:d' });
  const needed = { approvalId: 'p', isDecisionNeeded: true };
  decide();
  expect([
    journal.decidedHere('p', 'a'),
    journal.decidedHere('p', 'b'),
    journal.decidedHere('q', 'a'),
  ]).toEqual(['sha256:d', undefined, undefined]);
  now += 600_000;
  expect(journal.decidedHere('p', 'a')).toBe('sha256:d');
  now += 1;
  expect(journal.decidedHere('p', 'a')).toBe(undefined);
  // The clock is set back. A small step is a correction; a day must not make the decision valid for one more day.
  now -= 600_001 + 1_000;
  expect(journal.decidedHere('p', 'a')).toBe('sha256:d');
  now -= 24 * 60 * 60 * 1000;
  expect(journal.decidedHere('p', 'a')).toBe(undefined);
  decide();
  expect(() => journal.start('b', 1, 'write_file', needed)).toThrow('the decision made here is used up');
  journal.start('a', 1, 'write_file', needed);
  expect(() => journal.start('a', 2, 'write_file', needed)).toThrow('the decision made here is used up');
  expect([journal.attempt('b', 1), journal.attempt('a', 2)]).toEqual([undefined, undefined]);
  // A start uses up the decision even if it does not need one, because the decision was meant for this start.
  decide();
  journal.start('a', 3, 'write_file', { approvalId: 'p', isDecisionNeeded: false });
  expect(journal.decidedHere('p', 'a')).toBe(undefined);
});

it('removes copies that no entry names: left by a life that ended in between', () => {
  open().close();
  writeFileSync(join(folder, 'undo', 'orphan'), 'secret');
  open();
  expect(copies()).toEqual([]);
});

it('[RN-10] one runner holds it, and the next one is told who', () => {
  open();
  expect(() => Journal.open({ folder, holder: { program: 'another' } })).toThrow(
    new RegExp(`this workspace has a runner already: a test, process ${process.pid}, since 20`),
  );
  rmSync(join(folder, 'journal.sqlite.holder'));
  expect(() => Journal.open({ folder, holder: { program: 'another' } })).toThrow('it does not say which');
});

it('[RN-10] is free again when it was closed, and after it could not be opened', () => {
  open().close();
  const path = join(folder, 'journal.sqlite');
  const good = readFileSync(path);
  writeFileSync(path, 'this is no database, but long enough to be taken for one: '.repeat(100));
  expect(() => open()).toThrow('file is not a database');
  writeFileSync(path, good);
  expect(open().unfinished()).toEqual([]);
});

it('says what it cannot write', () => {
  mkdirSync(join(folder, '..'), { recursive: true });
  writeFileSync(folder, 'a file where the folder should be');
  expect(() => open()).toThrow('The runner cannot write its journal');
  rmSync(folder);
  const journal = open();
  journal.close();
  journal.close();
  expect(() => journal.start('a', 1, 'write_file')).toThrow('The runner cannot write its journal');
});

it('[DA-4] keeps the newest head, and notices one that goes back or is another', () => {
  const journal = open();
  expect(journal.auditHead).toBe(undefined);
  expect(['5:aa', '5:aa', '6:bb', '5:aa', '6:cc', 'nonsense'].map((head) => journal.witness(head))).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
  journal.close();
  expect(open().auditHead).toBe('6:bb');
});

it('opens a journal of an earlier version, and keeps what it has', () => {
  open().close();
  const old = new DatabaseSync(join(folder, 'journal.sqlite'));
  old.exec(`drop table landings; drop table changes; create table changes (
    tool_id text not null, attempt integer not null, position integer not null, path text not null,
    operation text not null, before text, after text, mode integer, copy text, recorded_at integer not null,
    undone_at integer, primary key (tool_id, attempt, position)) strict;
    insert into changes values ('a', 1, 0, 'x.md', 'created', null, 'sha256:b', null, null, ${now}, null)`);
  old.close();
  const journal = open();
  journal.recordChanges('b', 1, [change('y.md')]);
  expect([...journal.changesOf('a'), ...journal.changesOf('b')]).toMatchObject([
    { path: 'x.md', modeAfter: undefined, identity: undefined, copyBytes: 0 },
    { path: 'y.md', mode: 0o640, copyBytes: 8 },
  ]);
});

it('[RN-12] keeps undo copies of the newest calls, as many as fit', () => {
  const journal = Journal.open({ folder, holder: { program: 'a test' }, now: () => now, undoBytes: 20 });
  journals.push(journal);
  for (const id of ['a', 'b', 'c']) {
    journal.start(id, 1, 'write_file');
    journal.recordChanges(id, 1, [change(`${id}.md`)]);
    journal.end(id, 1, report);
  }
  expect(['a', 'b', 'c'].map((id) => journal.changesOf(id).length)).toEqual([0, 1, 1]);
  expect(copies().length).toBe(2);
});
