import { expect, it } from 'vitest';
import { tokensWordsFor } from '../tokens/tokens-words.ts';
import { acpWordsFor } from './acp-words.ts';

const sentences = (words: object): string[] =>
  Object.values(words).flatMap((word: unknown) =>
    typeof word === 'function'
      ? [String(word('ONE', 'TWO'))]
      : typeof word === 'object' && word !== null
        ? sentences(word)
        : [String(word)],
  );

it.each([
  ['acp', acpWordsFor],
  ['tokens', tokensWordsFor],
])('every sentence of %s is there in both languages', (_name, wordsFor) => {
  const english = sentences(wordsFor({}, 'en'));
  const russian = sentences(wordsFor({ LANG: 'ru_RU.UTF-8' }, undefined));
  expect(russian.length).toBe(english.length);
  expect(russian.filter((text) => !/[а-яё]/i.test(text))).toEqual([]);
  expect(english.filter((text) => /[а-яё]/i.test(text))).toEqual([]);
  const holes = (texts: string[]) => texts.map((text) => text.includes('ONE'));
  expect(holes(russian)).toEqual(holes(english));
});
