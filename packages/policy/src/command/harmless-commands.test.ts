import { describe, expect, it } from 'vitest';
import { NOT_COVERED } from './harmless-commands.test-data.ts';
import { harmlessCommands, isHarmlessCommand } from './harmless-commands.ts';
import { splitExample } from './split-example.test-data.ts';

describe('[AP-4] a grant by program', () => {
  const covered = harmlessCommands.flatMap(({ covers }) => covers);
  const left = harmlessCommands.flatMap(({ doesNotCover = [] }) => doesNotCover);

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

  it.each(NOT_COVERED)('covers no more than its lists: %s', (line) => {
    expect(isHarmlessCommand(splitExample(line))).toBe(false);
  });

  it('does not cover a word that is only known at run time', () => {
    expect(isHarmlessCommand(['git', 'log', undefined])).toBe(false);
    expect(isHarmlessCommand([undefined])).toBe(false);
  });
});
