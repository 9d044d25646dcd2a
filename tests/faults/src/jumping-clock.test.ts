import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const clockModule = fileURLToPath(new URL('./jumping-clock.ts', import.meta.url));
const program = `console.log(JSON.stringify([
  Date.now(), +new Date(), +new Date(5), new Date(2020, 1, 1).getFullYear(), typeof Date(),
  new Date() instanceof Date, performance.timeOrigin ]))`;

it('[AP-3] shifts the wall clock of a process, and nothing else', () => {
  const env = { PATH: process.env.PATH, FAULTS_CLOCK_OFFSET_MS: '-3600000' };
  const said = execFileSync(process.execPath, ['--import', clockModule, '-e', program], {
    env,
    encoding: 'utf8',
  });
  const [now, made, given, year, text, isDate, origin] = JSON.parse(said) as number[];
  const hourAgo = Date.now() - 3_600_000;
  expect(Math.abs(Number(now) - hourAgo)).toBeLessThan(30_000);
  expect(Math.abs(Number(made) - hourAgo)).toBeLessThan(30_000);
  expect([given, year, text, isDate]).toEqual([5, 2020, 'string', true]);
  expect(Math.abs(Number(origin) - Date.now())).toBeLessThan(60_000);
});
