import { expect, it } from 'vitest';
import { commandLine, commandWords } from './command-words.ts';

it.each([
  ['npm test', ['npm', 'test']],
  ["git commit -m 'two words'", ['git', 'commit', '-m', 'two words']],
  ['echo "it\'s" a\\ b', ['echo', "it's", 'a b']],
  ["x ''", ['x', '']],
  ['  ', []],
])('%j', (line, words) => expect(commandWords(line)).toEqual(words));

it.each([['node', '-e', 'console.log(\'a "b"\')'], ['a', '', ' ', '\\', "'", '"', 'a\nb'], ['ls']])(
  'a line reads back as its words',
  (...words) => expect(commandWords(commandLine(words))).toEqual(words),
);

it('a line with an open quotation mark is invalid', () => expect(commandWords("echo 'a")).toBeUndefined());
