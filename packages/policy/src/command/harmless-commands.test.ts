import { describe, expect, it } from 'vitest';
import { HIGH } from '../line/hostile-lines.test-data.ts';
import { NOT_COVERED } from './harmless-commands.test-data.ts';
import { harmlessCommands, isHarmlessCommand, isStartedByHarmless } from './harmless-commands.ts';
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

  const hostile = [HIGH['a builder with code of its own'], HIGH['what leaves this machine']].flatMap(
    (lines = []) => lines.filter((line) => !/[|;<]/.test(line)),
  );
  it.each(hostile)('covers nothing that asks twice: %s', (line) => {
    expect(isHarmlessCommand(splitExample(line))).toBe(false);
  });

  it.each([
    ['npx vitest run', 'vitest run', true],
    ['uv run ruff check src', 'ruff check src', true],
    ['bundle exec rspec', 'rspec', true],
    ['npx vitest run', 'vitest', false],
    ['npx vitest run', 'npx vitest run', false],
    ['npx evil run', 'evil run', false],
    ['npm run test', 'test', false],
    ['uv run --with x pytest', 'pytest', false],
  ])('%s starts %s: %s', (line, inner, isStarted) => {
    expect(isStartedByHarmless(splitExample(inner), [{ words: splitExample(line) }])).toBe(isStarted);
  });

  it('does not cover a word that is only known at run time', () => {
    expect(isHarmlessCommand(['git', 'log', undefined])).toBe(false);
    expect(isHarmlessCommand([undefined])).toBe(false);
  });
});
