import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import {
  COMPUTED,
  NOT_EXECUTED,
  PLAIN,
  REPLACED,
  UNKNOWN_VALUES,
  WRITTEN_OUT,
  withCode,
} from './evaluated-text.test-data.ts';
import { ShellValidator } from './shell-validator.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});

/** The table is checked with a real bash, which must be version 5. */
const bash = spawnSync('bash', ['-c', 'echo $BASH_VERSINFO'], { encoding: 'utf8' });
const isBash5 = bash.status === 0 && Number(bash.stdout) >= 5;

/** Runs each line in its own bash and folder. One driver process starts them, which is much faster than starting them from Node. */
const DRIVER = `
while IFS= read -r -d '' line; do
  mkdir run && cd run && MARKER=$PWD/marker HOME=$PWD bash -c "$line" > /dev/null 2>&1 < /dev/null
  if [ -e marker ]; then echo yes; else echo no; fi
  cd .. && rm -rf run
done`;

function executed(lines: readonly string[]): Map<string, boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'evaluated-'));
  try {
    const input = lines.map((line) => `${withCode(line, 'touch $MARKER')}\0`).join('');
    const env = { PATH: process.env.PATH };
    const answers = execFileSync('bash', ['-c', DRIVER], { cwd: folder, env, input, encoding: 'utf8' });
    const all = answers.trim().split('\n');
    return new Map(lines.map((line, index) => [line, all[index] === 'yes']));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An interactive shell would take the terminal of the person who runs the tests. */
const isInteractive = (line: string): boolean => /\bsh( --\w+)* -i\b/.test(line);

it.runIf(isBash5)(
  '[VA-6] bash itself executes what the tables say, and nothing else',
  () => {
    const lines = [...COMPUTED, ...WRITTEN_OUT].filter((line) => !isInteractive(line));
    const answers = executed([...lines, ...NOT_EXECUTED]);
    expect(lines.filter((line) => !answers.get(line))).toEqual([]);
    expect(NOT_EXECUTED.filter((line) => answers.get(line))).toEqual([]);
  },
  300_000,
); // some three hundred processes, also on a busy machine

const decide = (line: string): { line: string; decision: string; needsPerson: boolean } => {
  const { verdict, needsPerson } = validator.check(line);
  return { line, decision: verdict.decision, needsPerson };
};

describe('[VA-6] a value that bash takes for a number, an index or a name', () => {
  it.each([...COMPUTED, ...WRITTEN_OUT])('is refused where it is a catastrophe: %s', (line) => {
    for (const code of ['rm -rf /', 'sudo id']) {
      const written = withCode(line, code);
      expect(decide(written)).toEqual({ line: written, decision: 'REJECT', needsPerson: false });
    }
  });

  it.each(COMPUTED)('needs a person, whatever it is: %s', (line) => {
    const written = withCode(line, 'date');
    expect(decide(written)).toEqual({ line: written, decision: 'HIGH', needsPerson: true });
  });

  it.each(NOT_EXECUTED)('is not refused where bash executes nothing of it: %s', (line) => {
    expect(decide(withCode(line, 'date')).decision).toBe('HIGH');
  });
});

describe('[VA-6] no grant covers a line that computes what it runs', () => {
  it.each(UNKNOWN_VALUES)('says so: %s', (line) => {
    const rules = validator.check(line).verdict.reasons.map(({ rule }) => rule);
    expect({ ...decide(line), rules }).toEqual({
      line,
      decision: 'HIGH',
      needsPerson: true,
      rules: expect.arrayContaining(['SHW-21']),
    });
  });
  it.each(PLAIN)('but plain arithmetic may be granted: %s', (line) => {
    expect(decide(line)).toEqual({ line, decision: 'HIGH', needsPerson: false });
  });
});

describe('[VA-6] refuses what a variable makes bash run', () => {
  it.each(REPLACED)('%s', (line) => {
    expect(decide(line)).toEqual({ line, decision: 'REJECT', needsPerson: false });
  });
});
