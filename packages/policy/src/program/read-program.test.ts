import { describe, expect, it } from 'vitest';
import { CommandValidator } from '../command/command-validator.ts';
import { PathValidator } from '../path-validator.ts';
import { isRefused } from '../verdict.ts';
import { codeOptions } from './executed-code.ts';
import { readNode } from './node.ts';
import { type ProgramReading, readProgram } from './read-program.ts';

const read = (line: string): ProgramReading => readProgram(line.split(' '));
const filesOf = (line: string): readonly string[] =>
  read(line).files.map(({ path, use, makes }) => `${use}${makes ? ' made' : ''} ${path}`);

describe('[VA-6] what a program call does, by its words', () => {
  it.each<[line: string, files: readonly string[]]>([
    ['cat a.txt b.txt', ['read a.txt', 'read b.txt']],
    ['grep -r needle src', ['read src']],
    ['grep -f names.txt src', ['read names.txt', 'read src']],
    ['sort -o out.txt in.txt', ['write made out.txt', 'read out.txt', 'read in.txt']],
    ['cp a b', ['read a', 'write b', 'write made b']],
    ['mv a b', ['write a', 'write b', 'write made b']],
    ['dd if=a of=b', ['read a', 'write b']],
    ['tee a', ['write made a']],
    ['tar xf a.tar -C out', ['write out', 'read a.tar', 'write out']],
    ['tar czf a.tgz -C src b', ['write a.tgz', 'read src', 'read b']],
    ['tar xfI a.tar ./unpack', ['write .', 'read a.tar', 'read ./unpack']],
    ['tar cfF a.tar ./next.sh b', ['write a.tar', 'read ./next.sh', 'read b']],
    ['zip -r a.zip src -x b', ['write a.zip', 'read src']],
    ['zip -r a.zip src -i .env', ['write a.zip', 'read src', 'read .env']],
    ['unzip a.zip', ['write .', 'read a.zip']],
    ['date -f a.txt', ['read a.txt']],
    ['head -n 5 a.txt', ['read a.txt']],
    ['curl -o a.json https://example.com/x', ['read a.json', 'write made a.json']],
    ['wget https://example.com/i.sh', ['write made i.sh']],
    ['curl -o - https://example.com/x', []],
    ['find src --delete', ['write src', 'read src']],
    ['find src -delete', ['write src', 'read src']],
    ['find -D tree -- src -delete', ['write src', 'read src']],
    ['find -', ['read ./-']],
    ['find /etc -fprint list.txt', ['read /etc', 'write list.txt']],
    ['git rm docs/a.md', ['write docs/a.md']],
    ['echo a.txt', []],
  ])('reads and writes of %s', (line, files) => {
    expect(filesOf(line)).toEqual(files);
  });

  it.each<[line: string, places: readonly string[]]>([
    ['tar xf a.tar', ['.']],
    ['tar xf a.tar -C out', ['out']],
    ['tar -C out -xf a.tar -C ..', ['out', 'out/..']],
    ['tar xf a.tar b -C out', ['out', '.']],
    ['tar xOf a.tar', ['.']],
    ['tar xf a.tar --one-top-level=out', ['out', '.']],
    ['tar tf a.tar', []],
    ['unzip a.zip -d out', ['out']],
    ['unzip -l a.zip', []],
    ['bsdtar xf a.tar -C out', ['out']],
    ['7z x a.7z -oout', ['out']],
    ['cpio -id', ['.']],
    ['cat a.tar', []],
  ])('where %s unpacks', (line, places) => {
    expect(read(line).unpacksInto).toEqual(places);
  });

  it.each<[line: string, runs: ProgramReading['runs']]>([
    ['make -f a.mk', [{ named: ['a.mk'], implied: [], surely: true }]],
    [
      'make -C sub',
      [{ named: [], implied: ['sub/GNUmakefile', 'sub/makefile', 'sub/Makefile'], surely: true }],
    ],
    ['go build a.go', [{ named: ['build', 'a.go'], implied: [], surely: false }]],
    ['cat Makefile', []],
  ])('files that %s executes', (line, runs) => {
    expect(read(line).runs).toEqual(runs);
  });

  it.each([
    'curl x',
    'npm ci',
    'git push',
    'git -C src push',
    'npm --prefix app i',
    'rsync a host:b',
    'yarn',
  ])('%s needs network', (line) => {
    expect(read(line).network).toBe(true);
  });

  it.each(['cat curl.md', 'npm test', 'git status', 'rsync a b', 'yarn build'])('%s needs none', (line) => {
    expect(read(line).network).toBe(false);
  });

  it.each<[words: readonly string[], inner: ProgramReading['innerCalls']]>([
    [
      ['timeout', '5', 'rm', 'a'],
      [
        { words: ['rm', 'a'], certainty: 'sure' },
        { words: ['a'], certainty: 'guess' },
      ],
    ],
    [
      ['flock', 'f', '-c', 'rm a'],
      [
        { words: ['-c', 'rm a'], certainty: 'sure' },
        { words: ['rm a'], certainty: 'guess' },
        { line: 'rm a', certainty: 'sure' },
      ],
    ],
    [['tar', 'xf', 'a', '--to-com', 'rm a'], [{ code: 'rm a', certainty: 'possible' }]],
    [['git', '-c', 'core.pager=rm a', 'log'], [{ line: 'rm a', certainty: 'possible' }]],
    [['git', 'bisect', 'run', 'rm', 'a'], [{ words: ['rm', 'a'], certainty: 'possible' }]],
    [['find', 'src', '-exec', 'rm', '{}', ';'], [{ words: ['rm', 'src'], certainty: 'possible' }]],
    [['cat', 'a'], []],
  ])('what %j executes in turn', (words, inner) => {
    expect(readProgram(words).innerCalls).toEqual(inner);
  });

  it('tells how a wrapper starts its program', () => {
    const { wrapper } = read('env -C sub A=b make');
    expect(wrapper).toEqual({
      calls: [{ words: ['make'], certainty: 'sure' }],
      assignments: ['A=b'],
      directory: 'sub',
    });
  });
});

describe('[VA-5] an option whose value is executed', () => {
  const commands = new CommandValidator({ paths: new PathValidator({ root: '/home/ann/project' }) });
  /** git starts a program for these options only after these subcommands. */
  const subcommands: Readonly<Record<string, string>> = {
    '-x': 'rebase',
    '--exec': 'rebase',
    '--extcmd': 'difftool',
    '-O': 'grep',
    '--open-files-in-pager': 'grep',
    '-u': 'clone',
  };
  const known = codeOptions.flatMap(({ programs, options }) =>
    programs
      .filter((program) => ['tar', 'git', 'zip', 'npm', 'gcc', 'node'].includes(program))
      .flatMap((program) => options.map((option): [string, string] => [program, option])),
  );

  it.each(known)('is never run unasked: %s %s', (program, option) => {
    const before = program === 'git' ? [subcommands[option] ?? 'fetch'] : [];
    const glued = option.startsWith('--') ? [`${option}=./x a`] : [`${option}./x a`];
    const value = program === 'node' ? [option, 'data:text/javascript,1'] : glued;
    const { verdict, needsPerson } = commands.check(program, [...before, ...value, 'b']);
    expect(isRefused(verdict) || needsPerson).toBe(true);
  });
});

describe('[VA-5] words that a program takes in its own way', () => {
  it('node takes no word with a dash as a value', () => {
    const { options, script } = readNode(['--title', '-e', '1', 'a.js']);
    expect(options.map(({ spelled }) => spelled)).toEqual(['--title', '-e']);
    expect(script).toEqual(['a.js']);
  });

  it('unzip leaves out what follows -x', () => {
    const commands = new CommandValidator({ paths: new PathValidator({ root: '/home/ann/project' }) });
    const { verdict, needsPerson } = commands.check('unzip', ['a.zip', '-d', 'docs', '-x', '.env']);
    expect([verdict.decision, needsPerson]).toEqual(['HIGH', false]);
  });
});
