import { expect, it } from 'vitest';
import { plainWords } from './plain-words.ts';

it.each([
  ['git fetch', ['git', 'fetch']],
  ['  git  fetch\torigin main ', ['git', 'fetch', 'origin', 'main']],
  [`git commit -m 'it is "so"' -m "and 'so'"`, ['git', 'commit', '-m', 'it is "so"', '-m', "and 'so'"]],
  ["git commit -m''", ['git', 'commit', '-m']],
  ['git reset HEAD~1 HEAD^', ['git', 'reset', 'HEAD~1', 'HEAD^']],
  [
    "git fetch origin '+refs/heads/*:refs/remotes/origin/*'",
    ['git', 'fetch', 'origin', '+refs/heads/*:refs/remotes/origin/*'],
  ],
])('reads %j', (line, words) => {
  expect(plainWords(line)).toEqual(words);
});

it.each([
  ...[
    '',
    'git fetch; id',
    'git fetch && id',
    'git fetch | cat',
    'git fetch & id',
    'git fetch > x',
    'git fetch\nid',
  ],
  ...[
    'git fetch $x',
    'git fetch `id`',
    'git fetch "$(id)"',
    'git fetch *',
    'git add {a,b}',
    'git add ~/x',
    '~/git fetch',
  ],
  ...[
    'A=b git fetch',
    'git fetch # so',
    'git fetch \\',
    "git fetch 'x",
    'git fetch (x)',
    '!git fetch',
    'git fetch !!',
  ],
  ...['git fetch [a]', 'git fetch "a\\b"', 'git fetch ?', 'git=x'],
])('does not accept %j as one plain command', (line) => {
  expect(plainWords(line)).toBeUndefined();
});
