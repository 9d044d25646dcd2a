import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitExample } from '../command/split-example.test-data.ts';
import { plainCommandWords } from './plain-words.ts';

describe('[RK-5] plainCommandWords', () => {
  it.each([
    ['git push', 'git push'],
    ['git -C src push', 'git push'],
    ['git -Csrc push -f', 'git push -f'],
    ['git --no-pager push origin', 'git push origin'],
    ['git -c x=y push', 'git push'],
    ['git -cx=y --git-dir x --work-tree=y push -C', 'git push -C'],
    ['git --exec-path status', 'git status'],
    ['git --frobnicate push', 'git push'],
    ['/usr/bin/git push', 'git push'],
    ['git --version', 'git'],
    ['git', 'git'],
    ['npm --silent run x', 'npm run x'],
    ['npm run --silent deploy', 'npm run deploy'],
    ['npm -C src rum x', 'npm run x'],
    ['npm --prefix=src run-script x -- --flag', 'npm run x --flag'],
    ['npm -s frobnicate', 'npm frobnicate'],
    ['npm --version', 'npm'],
    ['node --no-warnings -r ./x.js src/app.js -e', 'node src/app.js -e'],
    ['node --env-file=x src/app.js', 'node src/app.js'],
    ['node --trace-warnings -e 1', 'node -e 1'],
    ['node --trace_warnings --test', 'node --test'],
    ['node -- src/app.js', 'node src/app.js'],
    ['node -v', 'node'],
    ['node -', 'node -'],
    ['python3 -u -W ignore scripts/gen.py -c', 'python3 scripts/gen.py -c'],
    ['python3 -Wignore -Xdev scripts/gen.py', 'python3 scripts/gen.py'],
    ['python3.11 -Im pytest -q', 'python3.11 -m pytest -q'],
    ['python3 -bmpytest', 'python3 -m pytest'],
    ['python3 --check-hash-based-pycs never -- x.py', 'python3 x.py'],
    ['python3 -V', 'python3'],
    ['./scripts/deploy.sh -C x', 'deploy.sh -C x'],
    ['rm -rf docs', 'rm -rf docs'],
  ])('%s → %s', (line, plain) => {
    expect(plainCommandWords(splitExample(line)).join(' ')).toBe(plain);
  });

  it('keeps words that are only known at run time', () => {
    expect(plainCommandWords(['/bin/git', '-C', undefined, 'push', undefined])).toEqual([
      'git',
      'push',
      undefined,
    ]);
    expect(plainCommandWords([undefined, 'x'])).toEqual([undefined, 'x']);
    expect(plainCommandWords([])).toEqual([]);
  });

  it('answers for any words', () => {
    const word = fc.oneof(
      fc.constantFrom('git', 'npm', 'node', 'python3', '-C', '--', '-', '-c', '--x=y', '-Wm'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const plain = plainCommandWords(words);
        expect(plain.every((each) => typeof each === 'string')).toBe(
          !words.some((each) => each === '\u0000'),
        );
      }),
    );
  });
});
