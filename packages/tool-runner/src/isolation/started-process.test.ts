import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { StartedProcess, sendSignal } from './started-process.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-started-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Processes in the order in which bubblewrap starts them: the namespace's first process, which sets up isolation, then
 * bubblewrap's report of its pid on descriptor 3, then the program. Waits for a file of the test before each step.
 */
const bubblewrap = `
  const { spawn } = require('node:child_process');
  const { existsSync, writeFileSync, writeSync } = require('node:fs');
  const until = (file, work) => existsSync(file) ? work() : setTimeout(until, 5, file, work);
  if (process.argv[1] === 'first') {
    process.on('SIGTERM', () => writeFileSync('first-got-sigterm', ''));
    until('start-program', () => {
      const program = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
      program.on('exit', (code, signal) => { writeFileSync('program-got-' + signal, ''); process.exit(); });
    });
    process.stdout.write('up');
  } else {
    const first = spawn(process.execPath, ['-e', process.env.SOURCE, 'first'], { stdio: ['ignore', 1, 2] });
    first.on('exit', (code) => { writeSync(3, '{ "exit-code": ' + code + ' }'); process.exit(); });
    until('report', () => writeSync(3, '{ "child-pid": ' + first.pid + ' }'));
  }
`;

it('[RN-4] a stop during the set-up reaches the program, and not the first process of its namespace', async () => {
  const child = spawn(process.execPath, ['-e', bubblewrap], {
    cwd: folder,
    env: { SOURCE: bubblewrap },
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    detached: true, // a group of its own, to end all of it after a failure
  });
  onTestFinished(() => void sendSignal(-Number(child.pid), 'SIGKILL'));
  const protection = { readOnly: [], pinned: [], standIns: [], release: () => ({ setAside: [] }) };
  const started = new StartedProcess(child, { isIsolated: true, protection });
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  const stopped = started.stop(3_600_000);
  for (const step of ['report', 'start-program']) writeFileSync(join(folder, step), '');
  await stopped;
  expect(existsSync(join(folder, 'program-got-SIGTERM'))).toBe(true);
  expect(existsSync(join(folder, 'first-got-sigterm'))).toBe(false);
  expect(started.hasRun).toBe(true);
});
