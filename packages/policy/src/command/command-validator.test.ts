import { linkSync } from 'node:fs';
import { join } from 'node:path';
import { defaultLimits } from '@countersign/protocol';
import { realDisk, temporaryWorkspace } from '@countersign/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { manuals } from '../program/manuals.ts';
import { asksVersion } from '../program/version-question.ts';
import { spellings } from './command-spellings.test-data.ts';
import { NOT_PROGRAMS } from './command-validator.test-data.ts';
import { CommandValidator } from './command-validator.ts';
import { splitExample } from './split-example.test-data.ts';

const paths = new PathValidator({ root: '/home/me/project' });
const validator = new CommandValidator({ paths });

function check(line: string) {
  const [command, ...args] = splitExample(line);
  return validator.check(command, args);
}

describe('[VA-4] which programs may run', () => {
  it('are exactly these', () => {
    expect([...manuals.keys()].sort()).toEqual(
      'cat date echo find gcc git grep head locate ls node npm pwd python python3 tail tar unzip wc whoami zip'.split(
        ' ',
      ),
    );
  });

  it.each(NOT_PROGRAMS)('refuses %j', (command) => {
    const { verdict, operands } = validator.check(command, []);
    expect(verdict).toMatchObject({ decision: 'REJECT', code: 'COMMAND_NOT_ALLOWED' });
    expect(operands).toEqual([]);
  });

  it('says what to do instead', () => {
    const { verdict } = validator.check('rm', ['-rf', 'docs']);
    expect(verdict).toEqual({
      decision: 'REJECT',
      code: 'COMMAND_NOT_ALLOWED',
      message: 'Command not allowed: rm. Use the tool delete_file instead.',
      reasons: [
        {
          rule: 'CMD-PROGRAM',
          why: '"rm" is not one of the programs that may run without a shell',
          operand: 'rm',
        },
      ],
    });
    expect(validator.check('./node', []).verdict).toMatchObject({
      message: expect.stringContaining('without a path: node'),
    });
    expect(validator.check('ls -l', []).verdict).toMatchObject({
      message: expect.stringContaining('entry of args'),
    });
    expect(validator.check('curl', []).verdict).toMatchObject({
      message: expect.stringContaining('shell_exec'),
    });
  });

  it('may be more when the person adds some, but never outside or sensitive paths', () => {
    const wider = new CommandValidator({
      paths,
      addedPrograms: new Map([
        ['make', 'MEDIUM'],
        ['docker', 'HIGH'],
        ['true', 'LOW'],
      ]),
    });
    const ask = (command: string, ...args: string[]) => wider.check(command, args).verdict.decision;
    expect([ask('make', 'test'), ask('docker', 'ps'), ask('true')]).toEqual(['MEDIUM', 'HIGH', 'MEDIUM']);
    expect([ask('make', '-C', '..'), ask('make', '--file=/etc/x'), ask('make', '.env'), ask('rm')]).toEqual(
      Array(4).fill('REJECT'),
    );
    expect(ask('./make', 'test')).toBe('REJECT');
  });
});

describe('[VA-5] what arguments may be', () => {
  it.each([
    [{ a: 1 }, 'INVALID_PARAMS'],
    ['-l', 'INVALID_PARAMS'],
    [[1], 'INVALID_PARAMS'],
    [[null], 'INVALID_PARAMS'],
    [['a\u0000b'], 'ARGUMENT_REFUSED'],
    [['\ud800'], 'ARGUMENT_REFUSED'],
    [['x'.repeat(200_000)], 'COMMAND_TOO_LONG'],
    [Array(5_001).fill('x'), 'ARGUMENT_REFUSED'],
  ])('refuses %#', (args, code) => {
    expect(validator.check('ls', args).verdict).toMatchObject({ decision: 'REJECT', code });
  });

  it('may be missing', () => {
    expect(validator.check('ls', undefined).verdict.decision).toBe('LOW');
    expect(validator.check(7, []).verdict).toMatchObject({ code: 'INVALID_PARAMS' });
  });

  it('obey the limits that are given', () => {
    const limits = { ...defaultLimits, commandCharacters: 10 };
    expect(new CommandValidator({ paths, limits }).check('ls', ['a'.repeat(20)]).verdict).toMatchObject({
      code: 'COMMAND_TOO_LONG',
    });
  });
});

describe('[VA-5] arguments are read as each program reads them', () => {
  for (const [decision, lines] of Object.entries(spellings)) {
    it.each(lines)(`${decision}: %s`, (line) => {
      const { verdict } = check(line);
      expect({
        line,
        decision: verdict.decision,
        reasons: verdict.reasons.map(({ rule, operand }) => [rule, operand]),
      }).toMatchObject({ decision });
    });
  }
});

describe('what the person and the runner learn of a command', () => {
  it.each(['git apply x.patch', 'git apply --index x.patch', 'git am x.patch', 'git -C . am x.patch'])(
    '[AP-8] treats a patch like a script: %s does what is in it',
    (line) => {
      expect(check(line).operands).toContainEqual({ path: 'x.patch', use: 'run' });
    },
  );

  it('names the files and what is done with them', () => {
    expect(check('node src/app.js x').operands).toEqual([{ path: 'src/app.js', use: 'run' }]);
    expect(check('npm test').operands).toEqual([{ path: 'package.json', use: 'run' }]);
    expect(check('npm --prefix src ci').operands).toContainEqual({ path: 'src/package.json', use: 'run' });
    expect(check('python3 scripts/gen.py').operands).toEqual([{ path: 'scripts/gen.py', use: 'run' }]);
    expect(check('gcc -o prog main.c').operands).toEqual([
      { path: 'prog', use: 'write' },
      { path: 'main.c', use: 'read' },
    ]);
    expect(check('tar -xf bundle.tar -C docs').operands).toEqual([
      { path: 'bundle.tar', use: 'read' },
      { path: 'docs', use: 'write' },
    ]);
    expect(check('grep -n x README.md docs/../package.json').operands).toEqual([
      { path: 'README.md', use: 'read' },
      { path: 'package.json', use: 'read' },
    ]);
    expect(check('tar -C src -cf x.tar app.ts').operands).toEqual([
      { path: 'src', use: 'read' },
      { path: 'x.tar', use: 'write' },
      { path: 'src/app.ts', use: 'read' },
    ]);
    expect(check('cat .env').operands).toEqual([]);
    expect(check('cat README.md README.md').operands).toEqual([{ path: 'README.md', use: 'read' }]);
  });

  it('[RK-5] names what is read without being a file operand', () => {
    const root = { path: '', use: 'read' };
    for (const line of ['grep -r x', 'grep -R -e x', 'ls', 'ls -la', 'find', 'find -type f', 'git grep x'])
      expect([line, check(line).operands]).toEqual([line, [root]]);
    expect(check('grep x').operands).toEqual([]);
    expect(check('find docs').operands).toEqual([{ path: 'docs', use: 'read' }]);
    expect(check('git show HEAD:docs/guide.md').operands).toEqual([{ path: 'docs/guide.md', use: 'read' }]);
    expect(check('git diff HEAD:docs/a.md..main:docs/b.md').operands).toEqual(
      expect.arrayContaining([
        { path: 'docs/a.md', use: 'read' },
        { path: 'docs/b.md', use: 'read' },
      ]),
    );
    expect(check('git -C src show HEAD:docs/guide.md').operands).toEqual([
      { path: 'src', use: 'read' },
      { path: 'src/docs/guide.md', use: 'read' },
      { path: 'docs/guide.md', use: 'read' },
    ]);
    expect(check('node src/app.js docs/guide.md').operands).toEqual([
      { path: 'src/app.js', use: 'run' },
      { path: 'docs/guide.md', use: 'read' },
    ]);
    expect(check('node src/app.js https://example.com/x').operands).toEqual([
      { path: 'src/app.js', use: 'run' },
    ]);
  });

  it('starts relative paths where the program starts', () => {
    expect(validator.check('cat', ['../README.md'], 'docs').operands).toEqual([
      { path: 'README.md', use: 'read' },
    ]);
    expect(validator.check('cat', ['../../x'], 'docs').verdict.decision).toBe('REJECT');
  });

  it('says whether network is needed', () => {
    const network = (line: string) => {
      const { verdict } = check(line);
      return verdict.decision !== 'REJECT' && verdict.network;
    };
    expect(
      [
        'npm ci',
        'npm i x',
        'npm view x',
        'npm audit',
        'npm publish',
        'npm exec x',
        'git fetch',
        'git pull',
        'git push',
        'git clone https://x/y',
        'git ls-remote',
        'git submodule update',
      ].map(network),
    ).toEqual(Array(12).fill(true));
    expect(
      ['npm test', 'npm ls', 'git status', 'git log', 'node src/app.js', 'cat README.md', 'gcc main.c'].map(
        network,
      ),
    ).toEqual(Array(7).fill(false));
  });

  it('[TL-4] says why an executable binary is not written', () => {
    expect(check('gcc -shared -o lib.so main.c').verdict).toEqual({
      decision: 'REJECT',
      code: 'EXTENSION_REFUSED',
      message: expect.stringContaining('"lib.so"'),
      reasons: [{ rule: 'WRITE-1', why: expect.stringMatching(/^"lib.so" .*binary/), operand: 'lib.so' }],
    });
    for (const line of [
      'zip x.exe README.md',
      'tar -cf x.so docs',
      'git archive -o a.dll HEAD',
      'find . -fprint x.sys',
    ])
      expect(check(line).verdict).toMatchObject({ code: 'EXTENSION_REFUSED' });
  });

  it('says that installing runs code of third parties', () => {
    expect(check('npm install express').verdict.reasons).toEqual([
      { rule: 'CMD-NPM-1', why: 'runs npm in the workspace' },
      { rule: 'CMD-NPM-10', why: expect.stringContaining('code of third parties'), operand: 'express' },
    ]);
  });

  it('puts the gravest reason first and leaves out what no longer counts', () => {
    expect(check('git -c core.pager=id status').verdict.reasons).toEqual([
      { rule: 'CMD-GIT-3', why: 'sets git configuration, which can make git start programs', operand: '-c' },
      { rule: 'CMD-GIT-1', why: 'runs git in the workspace' },
    ]);
    expect(check('cat README.md').verdict.reasons).toEqual([
      { rule: 'CMD-READ', why: 'only reads inside the workspace' },
    ]);
    expect(check('find . -delete').verdict).toMatchObject({
      code: 'ARGUMENT_REFUSED',
      message: 'find is refused with -delete: deletes or writes files.',
    });
  });

  it('[VA-2] refuses a path that is glued to an option without a value, or given to an unknown one', () => {
    const lines = [
      'ls --all=/etc/passwd',
      'ls --all=.env',
      'cat --frobnicate=../x',
      'git log --no-graph=.env',
    ];
    expect(lines.map((line) => check(line).verdict.decision)).toEqual(lines.map(() => 'REJECT'));
    expect(check('ls --all=docs').verdict.decision).toBe('LOW');
  });

  it('[VA-1] does not call a file with several names harmless', () => {
    const workspace = temporaryWorkspace();
    try {
      linkSync(join(workspace.root, 'README.md'), join(workspace.outside, 'other'));
      const real = new CommandValidator({
        paths: new PathValidator({ root: workspace.root, disk: realDisk }),
      });
      expect(real.check('cat', ['README.md']).verdict).toMatchObject({
        decision: 'MEDIUM',
        reasons: [{ rule: 'CMD-LINK-1', operand: 'README.md' }],
      });
      expect(real.check('cat', ['package.json']).verdict.decision).toBe('LOW');
    } finally {
      workspace.remove();
    }
  });
});

const levels = ['LOW', 'MEDIUM', 'HIGH', 'REJECT'];
const anyProgram = fc.constantFrom(...manuals.keys());
const knownLines = Object.values(spellings).flat().map(splitExample);
const pieces = [...new Set(knownLines.flat())];
const anyArgument = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...pieces) },
  { weight: 2, arbitrary: fc.string({ maxLength: 20, unit: 'grapheme' }) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.constantFrom(...'-=./:*?[]{}\\@~^!(),+ afxTCIe0'), maxLength: 24 }),
  },
);

describe('[VA-9] for any input', () => {
  it('gives an answer, and the same one again', () => {
    fc.assert(
      fc.property(
        fc.oneof(anyProgram, fc.string(), fc.anything()),
        fc.oneof(fc.array(anyArgument), fc.anything()),
        (command, args) => {
          const first = validator.check(command, args);
          expect(levels).toContain(first.verdict.decision);
          expect(first.verdict.reasons.length).toBeGreaterThan(0);
          expect(validator.check(command, args)).toEqual(first);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it('never lowers the risk when a harmless argument is appended', () => {
    const harmless = fc.constantFrom(
      'README.md',
      'src/app.ts',
      'docs',
      '-v',
      '--verbose',
      '--version',
      '--help',
      '-q',
      '-n',
      'x',
    );
    fc.assert(
      fc.property(
        fc.oneof(fc.constantFrom(...knownLines), fc.tuple(anyProgram, anyArgument, anyArgument)),
        harmless,
        ([command, ...args], extra) => {
          const before = validator.check(command, args).verdict.decision;
          const after = validator.check(command, [...args, extra]).verdict.decision;
          // A call that only asks for the version does not use the program.
          fc.pre(!asksVersion([command, ...args, extra]));
          // With -v, unzip lists an executable that it was going to write.
          fc.pre(!(command === 'unzip' && extra === '-v'));
          // Code that was going to come from standard input now comes from a file that the person sees.
          fc.pre(
            !(
              (command === 'node' || command === 'python' || command === 'python3') &&
              before === 'HIGH' &&
              after === 'MEDIUM'
            ),
          );
          expect([command, args, extra, levels.indexOf(after) >= levels.indexOf(before)]).toEqual([
            command,
            args,
            extra,
            true,
          ]);
        },
      ),
      { numRuns: 5_000, examples: [[['tar', 'Cf\\', 'grep'], 'README.md']] },
    );
  });

  it('answers soon, also for input made to be slow', () => {
    const started = process.cpuUsage();
    for (const command of manuals.keys()) {
      for (const part of ['-', '--a', '*', '[', '{,', '../', ':', '=', '-C', '.env', 'a.', '@', ',', '(']) {
        validator.check(command, [part.repeat(10_000)]);
        validator.check(command, Array(1_000).fill(part));
        validator.check(command, [
          `--include=${part.repeat(5_000)}`,
          `--x=${part.repeat(5_000)}`,
          `-Wl,${part.repeat(5_000)}`,
        ]);
      }
    }
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(35_000);
  });

  it('answers soon to many changes of directory, and to a deep expression', () => {
    const started = process.cpuUsage();
    const words = Array.from({ length: 4_990 }, (_, i) => (i % 2 ? 'a/b/c/d' : '-C'));
    expect(validator.check('git', [...words, 'status']).verdict.decision).toBe('REJECT');
    expect(validator.check('tar', ['-cf', 'x.tar', ...words]).verdict.decision).toBe('REJECT');
    validator.check('find', Array(5_000).fill('('));
    validator.check('find', Array(700).fill(['!', '(', '-name', '.env', '-prune', ')', '-o']).flat());
    validator.check('find', ['-regex', '(a|b)'.repeat(200)]);
    validator.check(
      'find',
      Array(200)
        .fill(['-regex', '((((.*|x)?)+)*'.repeat(20)])
        .flat(),
    );
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(20_000);
  });
});
