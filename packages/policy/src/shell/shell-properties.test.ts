// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, not a template
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { catastropheList } from './catastrophes.ts';
import { Findings } from './findings.ts';
import { ShellValidator, walkLine } from './shell-validator.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});
const decide = (line: string): string => validator.check(line).verdict.decision;

/** The same as `decide`, with the work it took: counted, because time says more of the machine than of the code. */
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

  it.each([
    '$('.repeat(5_000),
    '('.repeat(50_000),
    '{a,b}'.repeat(200),
    `x=a; ${'x=$x$x; '.repeat(60)}echo $x`,
    'eval '.repeat(20_000),
    `echo ${'{1..999999}'.repeat(9)}`,
    `${'for i in 1 2; do '.repeat(40)}:${'; done'.repeat(40)}`,
    `${'f(){ '.repeat(100)}:${'; }'.repeat(100)}`,
    `f0(){ :; }; ${[...Array(40).keys()].map((i) => `f${i + 1}(){ f${i}; f${i}; }; `).join('')}f40`,
    `${'echo a; '.repeat(15_000)}`,
    `a=${'*'.repeat(5_000)}; echo \${a//${'*'.repeat(200)}/b}`,
    `echo ${'a'.repeat(100_000)}`,
    `echo "${'$x'.repeat(30_000)}"`,
    `x='${'a'.repeat(60_000)}'; ${'y=$x; '.repeat(5_000)}`,
    `bash -c '${'bash -c "'.repeat(2_000)}`,
    `echo ${'a|'.repeat(30_000)}b`,
    `${'cd a; '.repeat(5_000)}rm -rf *`,
    `${'cat <<E\nx\nE\n'.repeat(5_000)}`,
    `${'x=$(echo '.repeat(30)}a${')'.repeat(30)}; $x`,
    `${'if a; then x=1; else x=2; fi; '.repeat(2_000)}$x$x$x$x`,
    `echo ${'${x:-'.repeat(200)}a${'}'.repeat(200)}`,
    `echo $((${'1+'.repeat(30_000)}1))`,
    `printf '%s%s%s' ${'a '.repeat(20_000)} | sh`,
    `while read x; do while read y; do while read z; do ${'a=$a$x; '.repeat(500)}done; done; done`,
    `x=(${'a '.repeat(30_000)}); for i in "\${x[@]}"; do rm $i; done`,
    `${'echo x > f; '.repeat(3_000)}sh f`,
    `${"alias a='b'; ".repeat(5_000)}`,
    `python3 -c '${'"a",'.repeat(10_000)}'`,
    `awk '${'system("ls");'.repeat(5_000)}'`,
    `${'a | '.repeat(10_000)}b`,
    `${'a && '.repeat(10_000)}b`,
    `printf '%${'0'.repeat(90_000)}'`,
    `basename ${'/'.repeat(90_000)}a`,
    `${[...Array(2_000).keys()].map((i) => `ln -s b${i + 1} b${i}`).join(';')}; rm b0/x`,
    `${[...Array(3_000).keys()].map((i) => `alias a${i}=a${i + 1}`).join(';')};a0`,
    `curl x > a; cp ${'a '.repeat(30_000)} d`,
    `foo ${'find '.repeat(20_000)}`,
    `mkfifo p; ${'echo a > p; '.repeat(3_000)}sh p`,
    `${[...Array(40).keys()].map((i) => `a${i}=a${i + 1}+b${i + 1}; b${i}=b${i + 1}-a${i + 1}`).join(';')}; ((a0))`,
    `a='${'b+'.repeat(30_000)}1'; ((a))`,
  ])('is decided in a bounded number of steps, also when it is built to be slow: %#', (line) => {
    const { work, decision } = workOn(line);
    // the walk ends soon after it has refused the line as too complex
    expect({
      line: line.slice(0, 60),
      decided: ['HIGH', 'REJECT'].includes(decision),
      steps: work.steps <= 50_000 ? 'few' : work.steps,
      characters: work.characters <= 2_500_000 ? 'few' : work.characters,
    }).toEqual({ line: line.slice(0, 60), decided: true, steps: 'few', characters: 'few' });
  });

  it.each([
    `echo ${'$(echo '.repeat(60)}a${')'.repeat(60)}`,
    `${'eval '.repeat(60)}ls`,
    `f0(){ :; }; ${[...Array(40).keys()].map((i) => `f${i + 1}(){ f${i}; f${i}; }; `).join('')}f40`,
  ])('says so when a line is too complex, which is no error of syntax: %#', (line) => {
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

  it.each([
    'echo "a',
    'if',
    'echo $(',
    'echo $(if)',
    'a &&',
    '(',
    ')',
    "bash -c 'if'",
    'eval "("',
    'cat <(if)',
    'x=`if`',
  ])('refuses what does not parse: %s', (line) => {
    expect(validator.check(line).verdict).toMatchObject({ decision: 'REJECT', code: 'SHELL_SYNTAX' });
  });
});

describe('[VA-6] a refused line stays refused', () => {
  const refused = fc.constantFrom(...catastropheList.flatMap(({ matches }) => matches));
  const WRAPPINGS: readonly ((line: string) => string)[] = [
    (line) => `${line}\ntrue`,
    (line) => `true; ${line}`,
    (line) => `(\n${line}\n)`,
    (line) => `{\n${line}\n}`,
    (line) => `bash -c '${line.replaceAll("'", "'\\''")}'`,
    (line) => `if true; then\n${line}\nfi`,
    (line) => `for i in 1; do\n${line}\ndone`,
    (line) => `eval '${line.replaceAll("'", "'\\''")}'`,
    (line) => `bash <<'COUNTERSIGN'\n${line}\nCOUNTERSIGN`,
    (line) => `f(){\n${line}\n}; f`,
    (line) => `x=$(\n${line}\n)`,
    (line) => `true && {\n${line}\n}`,
    (line) => `while false; do\n${line}\ndone`,
    (line) => `{\n${line}\n} &`,
    (line) => `cat <(\n${line}\n)`,
    (line) => `env A=b bash -c '${line.replaceAll("'", "'\\''")}'`,
    (line) => `case x in\n*)\n${line}\n;; esac`,
  ];
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
