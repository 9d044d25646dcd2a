import { describe, expect, it } from 'vitest';
import { harmlessCommands, isHarmlessCommand } from './harmless-commands.ts';
import { splitExample } from './split-example.ts';

describe('[AP-4] a grant by program', () => {
  const covered = harmlessCommands.flatMap(({ covers }) => covers);
  const left = harmlessCommands.flatMap(({ leaves = [] }) => leaves);

  it.each(covered)('covers %s', (line) => {
    expect(isHarmlessCommand(splitExample(line))).toBe(true);
  });

  it.each(left)('leaves to the person: %s', (line) => {
    expect(isHarmlessCommand(splitExample(line))).toBe(false);
  });

  it.each(['git --no-pager log --oneline', 'git --no-pager stash list'])(
    'covers git without a pager: %s',
    (line) => {
      expect(isHarmlessCommand(splitExample(line))).toBe(true);
    },
  );

  it.each([
    'git --no-pager config a.b c',
    'git --no-pager --no-pager log --output=x',
    'git log -- -x --output=x',
    'git log -5x',
    'git commit -m',
    'git config --get --no-get core.fsmonitor x',
    'git hook run pre-commit',
    'npm publish',
    'npm install x',
    'npm ci',
    'npm exec x',
    'npm config set a b',
    'npm pkg set scripts.test=id',
    'npm test --audit=publish',
    'npm',
    'tar czf x.tgz src',
    'gcc main.c',
    'make test',
    '/usr/bin/git status',
    '',
  ])('covers no more than its lists: %s', (line) => {
    expect(isHarmlessCommand(splitExample(line))).toBe(false);
  });

  it('does not cover a word that is only known at run time', () => {
    expect(isHarmlessCommand(['git', 'log', undefined])).toBe(false);
    expect(isHarmlessCommand([undefined])).toBe(false);
  });
});
