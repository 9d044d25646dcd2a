import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { usageOf } from '../command-context.ts';
import { wordsFor } from '../words.ts';
import { type LogOptions, readLogOptions } from './log-options.ts';
import { jsonLine, type LogLine, RunnerLog, textLine } from './runner-log.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-log-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function logWith(wish: LogOptions) {
  const shown: LogLine[] = [];
  const log = new RunnerLog(wish, (line) => shown.push(line));
  log.debug('Tool timing: a', { call: 'a', total_ms: 3 });
  log.info('Tool execution started: a, read_file', { call: 'a' });
  log.error('Tool error: a');
  return { log, shown: shown.map(({ level }) => level) };
}

const written = (file: string) =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('the log of the runner in a terminal (founding documents: local-tool-execution)', () => {
  it('[OB-2] shows errors unless a level is named', () => {
    expect(logWith({}).shown).toEqual(['error']);
    expect(logWith({ level: 'info' }).shown).toEqual(['info', 'error']);
    expect(logWith({ level: 'debug' }).shown).toEqual(['debug', 'info', 'error']);
    expect([logWith({}).log.isDebugEnabled, logWith({ level: 'debug' }).log.isDebugEnabled]).toEqual([
      false,
      true,
    ]);
  });

  it('[OB-2] appends to a file for the person alone, and shows errors all the same', () => {
    const file = join(folder, 'runner.log');
    const { log, shown } = logWith({ file });
    log.close();
    log.close();
    expect(shown).toEqual(['error']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(written(file)).toEqual([
      { call: 'a', level: 'info', time: expect.any(String), msg: 'Tool execution started: a, read_file' },
      { level: 'error', time: expect.any(String), msg: 'Tool error: a' },
    ]);
    logWith({ file, level: 'debug' }).log.close();
    expect(written(file).map(({ level }) => level)).toEqual(['info', 'error', 'debug', 'info', 'error']);
  });

  it('[OB-2] makes a file private that others could read before', () => {
    const file = join(folder, 'runner.log');
    writeFileSync(file, '', { mode: 0o664 });
    logWith({ file }).log.close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(written(file)).toHaveLength(2);
  });

  it('says which file cannot be opened', () => {
    const file = join(folder, 'missing', 'runner.log');
    expect(() => logWith({ file })).toThrow(`--log-file ${file}: ENOENT`);
  });

  it('[OB-2] continues without a log file that cannot be written any more, and reports that once', () => {
    const shown: LogLine[] = [];
    const log = new RunnerLog({ file: '/dev/full' }, (line) => shown.push(line));
    log.info('Tool execution started: a, read_file');
    log.info('Tool execution completed: a');
    expect(shown).toMatchObject([
      { level: 'error', message: 'Log file failed', details: { problem: expect.stringContaining('ENOSPC') } },
    ]);
  });

  it('a line is an event with its fields; a person does not see the stack', () => {
    const line: LogLine = {
      level: 'error',
      time: new Date(2026, 10, 18, 4, 5, 6),
      message: 'Tool error: a',
      details: { call: 'a', error: { code: 'READ_FAILED', stack: ['at x'] } },
    };
    expect(textLine(line)).toBe('04:05:06 error Tool error: a {"call":"a","error":{"code":"READ_FAILED"}}');
    expect(textLine({ ...line, details: {} })).toBe('04:05:06 error Tool error: a');
    expect(JSON.parse(jsonLine(line))).toEqual({
      ...line.details,
      level: 'error',
      time: line.time.toISOString(),
      msg: 'Tool error: a',
    });
  });

  it('takes the levels of the documents and no others', () => {
    const read = (level: string) => readLogOptions({ 'log-level': level }, wordsFor({}), usageOf('connect'));
    expect(read('debug')).toEqual({ level: 'debug' });
    expect(() => read('verbose')).toThrow('--log-level verbose is not a level: there are debug, info, error');
  });
});
