import { realDisk, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { CommandValidator } from './command-validator.ts';
import { GRANTABLE, PERSON } from './needs-person.test-data.ts';
import { splitExample } from './split-example.test-data.ts';

const byText = new CommandValidator({ paths: new PathValidator({ root: '/home/me/project' }) });

function needsPerson(line: string, validator = byText): boolean {
  const [command, ...args] = splitExample(line);
  const { verdict, needsPerson } = validator.check(command, args);
  expect([line, verdict.decision]).not.toEqual([line, 'REJECT']);
  return needsPerson;
}

describe('[AP-4] no grant and no allow rule answers for', () => {
  it.each(PERSON)('%s', (line) => {
    expect(needsPerson(line)).toBe(true);
  });

  it('more files than anybody reads through', () => {
    const many = Array.from({ length: 1_001 }, (_, i) => `docs/${i}.md`);
    const { verdict, operands, needsPerson } = byText.check('cat', many);
    expect([verdict.decision, operands.length, needsPerson]).toEqual(['MEDIUM', 1_001, true]);
  });

  it('a sensitive file that the policy lifted, also as an argument of a script', () => {
    const paths = new PathValidator({ root: '/home/me/project', liftedSensitivePaths: new Set(['.env']) });
    const lifted = new CommandValidator({ paths });
    for (const args of [
      ['cat', '.env'],
      ['node', 'src/app.js', '.env'],
      ['git', 'frobnicate', '.env'],
    ]) {
      const { verdict, needsPerson } = lifted.check(args[0], args.slice(1));
      expect([args, verdict.decision, needsPerson]).toEqual([args, 'HIGH', true]);
    }
  });
});

describe('[AP-4] a grant may answer for', () => {
  it.each(GRANTABLE)('%s', (line) => {
    expect(needsPerson(line)).toBe(false);
  });
});

describe('with the disk', () => {
  let workspace: ReturnType<typeof temporaryWorkspace>;
  let validator: CommandValidator;
  beforeEach(() => {
    workspace = temporaryWorkspace();
    validator = new CommandValidator({ paths: new PathValidator({ root: workspace.root, disk: realDisk }) });
  });
  afterEach(() => workspace.remove());

  it('[VA-3] unpacking over a nested repository needs a person, into a plain directory it does not', () => {
    workspace.apply([
      { op: 'dir', path: 'vendor/.git' },
      { op: 'dir', path: 'docs/sub' },
    ]);
    expect(
      ['tar xf bundle.tar -C vendor', 'unzip archive.zip -d vendor'].map((x) => needsPerson(x, validator)),
    ).toEqual([true, true]);
    expect(
      ['tar xf bundle.tar -C docs/sub', 'unzip archive.zip -d docs'].map((x) => needsPerson(x, validator)),
    ).toEqual([false, false]);
  });

  it('[VA-1] a link out of the workspace as an argument of a script needs a person', () => {
    workspace.apply([{ op: 'symlink', path: 'third', target: '{outside}' }]);
    expect(validator.check('node', ['src/app.js', 'third/x'])).toMatchObject({
      verdict: { decision: 'HIGH', reasons: [{ rule: 'CMD-ARG-1' }, {}] },
      needsPerson: true,
    });
  });

  it('[VA-1] a link called - is followed by programs for which - is a name, and is a stream for the others', () => {
    workspace.apply([{ op: 'symlink', path: '-', target: '{outside}' }]);
    const decide = (line: string): string => {
      const [command, ...args] = splitExample(line);
      return validator.check(command, args).verdict.decision;
    };
    const followed = [
      'ls -',
      'ls -la -- -',
      'find -',
      'find -H -',
      'find . -newer -',
      'find . -samefile -',
      'date -r -',
      'gcc -o - main.c',
      'git add -',
      'git -C - status',
      'git diff --output=-',
      'git log -- -',
      'tar -cf x.tar -',
      'tar -C - -xf bundle.tar',
      'unzip -',
      'unzip archive.zip -d -',
      'npm --prefix - test',
      'node --env-file=- src/app.js',
      'python3 -m pytest -',
    ];
    expect(followed.map((line) => [line, decide(line)])).toEqual(followed.map((line) => [line, 'REJECT']));
    const streams = [
      'cat -',
      'head -',
      'tail -n 3 -',
      'wc -l -',
      'grep x -',
      'grep -f - README.md',
      'wc --files0-from=-',
      'find -files0-from -',
      'date -f -',
      'tar -cf - docs',
      'tar -cf x.tar -T -',
      'zip - README.md',
      'zip x.zip -',
      'python3 -',
      'node -',
      'gcc -x c - -o x',
      'git apply -',
      'git commit -F -',
      'git checkout -',
    ];
    expect(streams.map((line) => [line, decide(line) === 'REJECT'])).toEqual(
      streams.map((line) => [line, false]),
    );
  });

  it('[RK-2] git checkout of a file that is there loses work; of a branch it does not', () => {
    const decide = (...args: string[]) => validator.check('git', args).verdict.decision;
    expect([decide('checkout', 'README.md'), decide('checkout', 'docs'), decide('checkout', 'main')]).toEqual(
      ['HIGH', 'HIGH', 'MEDIUM'],
    );
    expect(decide('checkout', '-b', 'docs', 'docs')).toBe('MEDIUM');
  });

  it('[RK-5] records arguments of scripts that are files', () => {
    const operands = (line: string) => {
      const [command, ...args] = splitExample(line);
      return validator.check(command, args).operands;
    };
    expect(operands('node src/app.js docs/guide.md --config=package.json nothing/there')).toEqual([
      { path: 'src/app.js', use: 'run' },
      { path: 'docs/guide.md', use: 'read' },
      { path: 'package.json', use: 'read' },
    ]);
    expect(operands('node src/app')).toEqual([
      { path: 'src/app', use: 'run' },
      { path: 'src/app.js', use: 'run', implied: true },
      { path: 'src/app.ts', use: 'run', implied: true },
    ]);
    expect(operands('git frobnicate README.md')).toEqual([
      { path: '.git/config', use: 'run', implied: true },
      { path: 'README.md', use: 'read' },
    ]);
  });
});
