import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realDisk, type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { HIGH, NOT_LOW } from './hostile-lines.test-data.ts';
import { LineAssessor } from './line-assessor.ts';

/** Lines of the corpus that only read, on the server as well. */
const READS: readonly string[] = readFileSync(
  new URL('../../corpus/command-lines.jsonl', import.meta.url),
  'utf8',
)
  .split('\n')
  .filter((text) => text !== '')
  .map((text) => JSON.parse(text) as { line: string; expect: string; onServer?: { expect: string } })
  .filter(({ expect, onServer = { expect } }) => expect === 'LOW' && onServer.expect === 'LOW')
  .map(({ line }) => line.replaceAll('{workspace}', '/home/ann/code/project'));

const onServer = new LineAssessor({
  paths: new PathValidator({ root: '/home/ann/code/project' }),
  home: '/home/ann',
});
const decide = (line: string, lines = onServer): string => lines.check(line).verdict.decision;

describe.each(Object.entries(NOT_LOW))('[VA-5] [VA-6] does not let through: %s', (_, lines) => {
  it.each(lines)('%j', (line) => {
    expect({ line, decision: decide(line) }).toEqual({ line, decision: expect.not.stringMatching(/^LOW$/) });
  });
});

describe.each(Object.entries(HIGH))('[RK-2] asks twice about: %s', (_, lines) => {
  it.each(lines)('%j', (line) => {
    expect({ line, decision: decide(line) }).toEqual({
      line,
      decision: expect.stringMatching(/HIGH|REJECT/),
    });
  });
});

it.each([
  "grep -rn KEY --include='.env*' .",
  "rg -g '.env*' KEY",
  'rg --glob=.env.* KEY',
  "rg KEY --iglob '*.pem' | head",
  "git diff -- '.env*'",
  'tree --fromfile .env',
  'tree --fromtabfile .env | head',
])('[VA-2] refuses a pattern that picks sensitive files: %s', (line) => {
  expect({ line, decision: decide(line) }).toEqual({ line, decision: 'REJECT' });
});

describe('[VA-5] any line', () => {
  const hostile = fc.constantFrom(...Object.values(NOT_LOW).flat());
  // Leave out here-documents, because a command appended to the last line would become their text. Leave out lines that
  // enter a folder, because `..` is the workspace there.
  const reading = fc.constantFrom(
    ...READS.filter((line) => !/<<|\b(cd|pushd) (?!\/home\/ann\/code\/project( |$))/.test(line)),
  );

  it('is not LOW with a command in it that is not', () => {
    const joined = fc
      .tuple(reading, hostile, fc.constantFrom('; ', ' && ', ' || ', '\n'))
      .map(([a, b, by]) => a + by + b);
    fc.assert(
      fc.property(joined, (line) => {
        expect({ line, decision: decide(line) }).toEqual({
          line,
          decision: expect.not.stringMatching(/^LOW$/),
        });
      }),
      { numRuns: 1_000 },
    );
  });

  it('is decided without a crash, and each time in the same way', () => {
    const pieces = [...READS, ...Object.values(NOT_LOW).flat()].flatMap((line) =>
      line.split(/(?=[\s|;&(){}'"$])/),
    );
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (line) => {
        expect(onServer.check(line)).toEqual(onServer.check(line));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('on a hostile disk', () => {
  let workspace: TemporaryWorkspace;
  let lines: LineAssessor;
  beforeAll(() => {
    workspace = temporaryWorkspace();
    const { root, outside } = workspace;
    writeFileSync(join(outside, 'secret.txt'), 'x');
    symlinkSync(outside, join(root, 'out'));
    symlinkSync(join(root, 'src/components'), join(root, 'inner'));
    symlinkSync(join(outside, 'secret.txt'), join(root, 'docs/link.txt'));
    linkSync(join(outside, 'secret.txt'), join(root, 'docs/second.txt'));
    for (const folder of ['odd', 'node_modules/.bin', '.venv/bin'])
      workspace.apply([{ op: 'dir', path: folder }]);
    for (const name of ['-o', '--pre=x', '-i', '-delete', 'a.txt'])
      writeFileSync(join(root, 'odd', name), '');
    symlinkSync(join(outside, 'secret.txt'), join(root, '.venv/bin/pytest'));
    symlinkSync(join(outside, 'secret.txt'), join(root, 'node_modules/.bin/some-tool'));
    // Interpreters of virtual environments: the system's, one from outside, one in a folder outside, and another
    // program.
    for (const folder of ['good/.venv/bin', 'home/.venv/bin', 'other/.venv/bin', 'between/.venv/bin', 'far'])
      workspace.apply([{ op: 'dir', path: folder }]);
    mkdirSync(join(outside, 'venv/bin'), { recursive: true });
    symlinkSync('/usr/bin/python3', join(outside, 'venv/bin/python'));
    symlinkSync('/usr/bin/python3', join(root, 'good/.venv/bin/python'));
    symlinkSync('python', join(root, 'good/.venv/bin/python3'));
    symlinkSync(join(outside, 'secret.txt'), join(root, 'home/.venv/bin/python'));
    symlinkSync('/usr/bin/env', join(root, 'other/.venv/bin/python'));
    symlinkSync('/usr/bin/python3', join(root, 'other/.venv/bin/pytest'));
    symlinkSync(join(outside, 'venv/bin/python'), join(root, 'between/.venv/bin/python'));
    symlinkSync(join(outside, 'venv'), join(root, 'far/.venv'));
    lines = new LineAssessor({ paths: new PathValidator({ root, disk: realDisk }) });
  });
  afterAll(() => workspace.remove());

  it.each([
    ['cd odd && sort *', 'MEDIUM'],
    ['cd odd && cat *', 'MEDIUM'],
    ['cd odd && wc -l -?', 'MEDIUM'],
    ['cd odd && ls [!a]*', 'MEDIUM'],
    ['cd odd && cat -- *', 'LOW'],
    ['cd odd && cat ./*', 'LOW'],
    ['cd odd && cat a*', 'LOW'],
    ['cd odd && find -- *', 'MEDIUM'],
    ['cd odd && [ -- -a * ]', 'MEDIUM'],
    ['cat odd/*', 'LOW'],
    ['cat R*', 'LOW'],
    ['for f in odd/*; do cat "$f"; done', 'LOW'],
    ['cd odd; for f in *; do cat "$f"; done', 'MEDIUM'],
  ])('[VA-5] a pattern that may become an option: %s', (line, decision) => {
    expect({ line, decision: decide(line, lines) }).toEqual({ line, decision });
  });

  it.each([
    'cd out && ls',
    'cd out; ls',
    'ls out/',
    'cat out/secret.txt',
    'cat docs/link.txt',
    'cat docs/second.txt',
    'wc -l < docs/link.txt',
    'cd docs && cat link.txt',
    'cd missing; cd ../..; ls',
    'cd inner && cat ../../../x',
    'cd inner && ls ..',
    'find out -type f',
    'rg foo out',
    'stat out/secret.txt',
    'test -f out/secret.txt',
    'du -sh out',
    'git -C out log',
  ])('[VA-1] leads outside by a link: %s', (line) => {
    expect({ line, decision: decide(line, lines) }).toEqual({
      line,
      decision: expect.not.stringMatching(/^LOW$/),
    });
  });

  it.each([
    ['cat docs/*', 'MEDIUM'],
    ['cat docs/*.txt | head', 'MEDIUM'],
    ['cat */link.txt', 'MEDIUM'],
    ['cat d*s/l*', 'MEDIUM'],
    ['cat doc?/link.txt', 'MEDIUM'],
    ['cat out*/secret.txt', 'MEDIUM'],
    ['ls */', 'MEDIUM'],
    ['cd docs && cat l*', 'MEDIUM'],
    ['for f in docs/*; do cat "$f"; done', 'MEDIUM'],
    ['cat {workspace}/docs/*', 'MEDIUM'],
    ['cat docs/n*', 'LOW'],
    ['cat inner/*', 'LOW'],
    ['cat src/*/*', 'LOW'],
    ['ls docs', 'LOW'],
  ])('[VA-1] a pattern that may match a link out of the workspace: %s', (line, decision) => {
    const filled = workspace.fill(line);
    expect({ line, decision: decide(filled, lines) }).toEqual({ line, decision });
  });

  it.each([
    ['cd good && .venv/bin/python -m pytest', 'MEDIUM'],
    ['cd good && .venv/bin/python3 ../src/a.py', 'MEDIUM'],
    ['cd good && .venv/bin/python -c 1', 'HIGH'],
    ['cd home && .venv/bin/python -m pytest', 'HIGH'],
    ['cd other && .venv/bin/python -m pytest', 'HIGH'],
    ['cd other && .venv/bin/pytest', 'HIGH'],
    ['cd between && .venv/bin/python -m pytest', 'HIGH'],
    ['cd far && .venv/bin/python -m pytest', 'HIGH'],
  ])('[VA-1] only the Python of the system may be linked: %s', (line, decision) => {
    expect({ line, decision: decide(line, lines) }).toEqual({ line, decision });
  });

  it.each([
    ['cp README.md Makefile', 'HIGH'],
    ['cp -T README.md gradlew', 'HIGH'],
    ['cd src && cp ../README.md build', 'HIGH'],
    ['cp README.md src', 'MEDIUM'],
    ['cp README.md new/', 'MEDIUM'],
  ])('[RK-2] a target without an extension is a folder only if one is there: %s', (line, decision) => {
    expect({ line, decision: decide(line, lines) }).toEqual({ line, decision });
  });

  it.each([
    '.venv/bin/pytest',
    './.venv/bin/pytest -q',
    'node_modules/.bin/some-tool',
    'npx cowsay',
    'npx not-installed',
    'npm exec -- not-installed',
    'npm x not-installed',
  ])('asks twice about a program of the project that is not its own: %s', (line) => {
    expect({ line, decision: decide(line, lines) }).toEqual({ line, decision: 'HIGH' });
  });
});
