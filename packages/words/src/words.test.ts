import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { editorWords } from './editor.ts';
import { emacsFile } from './emacs.ts';
import { approvalWords, isSupportedLanguage, languageFor, languageNames, languageOf } from './index.ts';
import { pageWords } from './page.ts';
import { englishCount, russianCount } from './plural.ts';
import { sentences } from './said.ts';
import { serverWords } from './server.ts';
import { terminalWords } from './terminal.ts';

const placesIn = (text: string): string[] => [...new Set(text.match(/\{\w+\}/g))].toSorted();

/** Functions that make a sentence are called with these marks, to see which arguments the sentence shows. */
const marks = ['⟨1⟩', '⟨2⟩', '⟨3⟩', '⟨4⟩'];
const foundIn = (text: string): string[] => marks.filter((mark) => text.includes(mark));

/** Every sentence by its id, with the values that it shows. Fails if a sentence is empty. */
function idsOf(words: object, path = ''): [id: string, shows: string][] {
  return Object.entries(words).flatMap(([name, word]: [string, unknown]): [string, string][] => {
    const id = path === '' ? name : `${path}.${name}`;
    if (typeof word === 'object') return idsOf(word as object, id);
    const text = typeof word === 'function' ? String(word(...marks)) : String(word);
    expect(text.trim(), id).not.toBe('');
    return [[id, [...placesIn(text), ...foundIn(text)].join()]];
  });
}

describe.each(Object.keys(languageNames) as (keyof typeof languageNames)[])('%s', (language) => {
  it.each(Object.entries(sentences[language]))('keeps the values of %s', (id, text) => {
    expect(placesIn(text)).toEqual(placesIn(sentences.en[id as keyof typeof sentences.en]));
  });

  it.each([
    ['approvals', approvalWords],
    ['the editor', editorWords],
    ['the page', pageWords],
    ['the server', serverWords],
    ['the terminal', terminalWords],
  ])('has each sentence of %s, with the same values', (_, words) => {
    // English has neither titles nor settings: the server's sentence is English, and config.ts has the settings.
    // How "yes" may be typed is different in each language.
    const ownOnly = /^(approval\.)?title\.|^settings\.[a-zA-Z]+$|^tools\.yes\./;
    const ids = (all: object) => idsOf(all).filter(([id]) => !ownOnly.test(id));
    expect(ids(words[language])).toEqual(ids(words.en));
  });
});

it('[AP-7] no reason on a card gives advice that is meant for the agent', () => {
  const rules = JSON.parse(readFileSync(new URL('english/rules.json', import.meta.url), 'utf8')) as object;
  const sayings = Object.values(rules).map(String);
  expect(sayings.length).toBeGreaterThan(100);
  expect(sayings.filter((why) => /[;:] (use|try|call) |\b[a-z]+_(file|exec|command)\b/.test(why))).toEqual(
    [],
  );
});

it('Emacs has these words; else run node packages/words/scripts/write-emacs-words.ts', () => {
  const path = new URL('../../../apps/emacs/countersign-words.json', import.meta.url);
  expect(readFileSync(path, 'utf8')).toBe(emacsFile);
});

describe('a word that counts', () => {
  it('counts down to now', () => {
    expect([2, 0].map(pageWords.en.connection.reconnecting)).toEqual([
      'Trying again in 2 s.',
      'Trying again now.',
    ]);
    expect(pageWords.ru.connection.reconnecting(0)).toBe('Новая попытка.');
  });

  it('has the plural of its language', () => {
    expect([0, 1, 2].map((n) => englishCount(n, 'call', 'calls'))).toEqual(['0 calls', '1 call', '2 calls']);
    const counted = [0, 1, 2, 5, 11, 12, 21, 22, 25, 111].map((n) =>
      russianCount(n, 'вызов', 'вызова', 'вызовов'),
    );
    expect(counted).toEqual([
      '0 вызовов',
      '1 вызов',
      '2 вызова',
      '5 вызовов',
      '11 вызовов',
      '12 вызовов',
      '21 вызов',
      '22 вызова',
      '25 вызовов',
      '111 вызовов',
    ]);
  });
});

describe('the language', () => {
  it('is the one that was asked for, else that of the environment, else English', () => {
    expect(languageOf({ LANG: 'ru_RU.UTF-8' }, 'en')).toBe('en');
    expect(languageOf({ LC_ALL: 'ru_RU', LANG: 'en_US' })).toBe('ru');
    expect(languageOf({ LANG: 'C' })).toBe('en');
    expect(languageOf({ LANG: 'ru_RU.UTF-8' }, 'fr')).toBe('en');
    expect([isSupportedLanguage('ru'), isSupportedLanguage('ru-RU'), isSupportedLanguage('fr')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('is the first of the browser that we have', () => {
    expect(languageFor(['fr-FR', 'ru-RU', 'en'])).toBe('ru');
    expect([languageFor(['rum']), languageFor([])]).toEqual(['en', 'en']);
  });
});
