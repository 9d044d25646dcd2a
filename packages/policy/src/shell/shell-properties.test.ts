// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, not a template
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { catastropheList } from './catastrophes.ts';
import { Findings } from './findings.ts';
import { SLOW, TOO_COMPLEX, UNPARSABLE, WRAPPINGS } from './shell-properties.test-data.ts';
import { ShellValidator, walkLine } from './shell-validator.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});
const decide = (line: string): string => validator.check(line).verdict.decision;

/** Like `decide`, and returns the work. Work is counted, because time depends more on the machine than on the code. */
function workOn(line: string): { decision: string; work: { steps: number; characters: number } } {
  const findings = new Findings();
  const work = walkLine(line, {
    directory: '/home/ann/code/work/project',
    findings,
    paths: new PathValidator({ root: '/home/ann/code/work/project' }),
    home: '/home/ann',
  });
  return { decision: findings.toCheck().verdict.decision, work };
}

const FRAGMENTS = [
  'rm',
  ' ',
  ' ',
  '-rf',
  '/',
  '~',
  '$x',
  '${x}',
  '"',
  "'",
  '`',
  '$(',
  ')',
  '(',
  '{',
  '}',
  ';',
  '\n',
  '|',
  '&',
  '&&',
  '||',
  '>',
  '<',
  '<<E\n',
  '\nE\n',
  '<<<',
  'x=',
  'if ',
  'then ',
  'fi',
  'for x in ',
  'do ',
  'done',
  'while ',
  'case ',
  'esac',
  'f(){ ',
  '*',
  '?',
  '[',
  ']',
  '{a,b}',
  '{1..9}',
  '$((',
  '))',
  'eval ',
  'sh -c ',
  'echo ',
  'cd ',
  '\\',
  '#',
  '!',
  '$@',
  '${x:-',
  '${x/',
  '@P}',
  'sudo ',
  'curl x',
  'xargs ',
  'find ',
  '..',
  '[[ ',
  ' ]]',
  '=',
  '+=',
  'a[',
  '$[',
  '<(',
  '>(',
  'coproc ',
  'time ',
  'function ',
  'trap ',
  'alias ',
  "$'",
  '\\x72',
  '%',
  ':',
  '-',
  '0',
  '9',
  'export ',
  'read x',
  'set -- ',
  'shift',
  '"$@"',
];
const shellText = fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 40 }).map((parts) => parts.join(''));

describe('[VA-6] any text at all', () => {
  it('is decided without a crash: HIGH or refused, never less', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.string({ maxLength: 200 }), shellText),
        (line) => {
          expect(['HIGH', 'REJECT']).toContain(decide(line));
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it.each(SLOW)('is decided in a bounded number of steps, also when it is built to be slow: %#', (line) => {
    const { work, decision } = workOn(line);
    // the walk ends soon after it has refused the line as too complex
    expect({
      line: line.slice(0, 60),
      decided: ['HIGH', 'REJECT'].includes(decision),
      steps: work.steps <= 50_000 ? 'few' : work.steps,
      characters: work.characters <= 2_500_000 ? 'few' : work.characters,
    }).toEqual({ line: line.slice(0, 60), decided: true, steps: 'few', characters: 'few' });
  });

  it.each(TOO_COMPLEX)('says so when a line is too complex, which is no error of syntax: %#', (line) => {
    expect(
      validator.check(line + (line.startsWith('(') ? `ls${')'.repeat(100)}` : '')).verdict,
    ).toMatchObject({
      decision: 'REJECT',
      code: 'SHELL_TOO_COMPLEX',
    });
  });

  it.each([undefined, null, 7, {}, [], true, '', '  ', 'a\u0000b', '\ud800', 'echo \ufdd0'])(
    'refuses %j as a command',
    (command) => {
      expect(validator.check(command).verdict).toMatchObject({ decision: 'REJECT', code: 'INVALID_PARAMS' });
    },
  );

  it.each([null, 7, '/etc', '../x', '', 'a\u0000'])('[VA-1] refuses %j as cwd', (cwd) => {
    expect(validator.check('ls', cwd).verdict.decision).toBe('REJECT');
  });

  it('refuses what is longer than the limit', () => {
    expect(validator.check(`echo ${'a'.repeat(200_000)}`).verdict).toMatchObject({
      decision: 'REJECT',
      code: 'COMMAND_TOO_LONG',
    });
  });

  it.each(UNPARSABLE)('refuses what does not parse: %s', (line) => {
    expect(validator.check(line).verdict).toMatchObject({ decision: 'REJECT', code: 'SHELL_SYNTAX' });
  });
});

describe('[VA-6] a refused line stays refused', () => {
  const refused = fc.constantFrom(...catastropheList.flatMap(({ matches }) => matches));
  it('in any company and any wrapping, twice over', () => {
    fc.assert(
      fc.property(
        refused,
        fc.array(fc.constantFrom(...WRAPPINGS), { minLength: 1, maxLength: 2 }),
        (line, wrappings) => {
          const wrapped = wrappings.reduce((text, wrap) => wrap(text), line);
          expect({ wrapped, decision: decide(wrapped) }).toEqual({ wrapped, decision: 'REJECT' });
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
