import { createContext, useContext } from 'react';
import { english } from './english.ts';
import { russian } from './russian.ts';

export type Words = typeof english;
export type LanguageCode = 'en' | 'ru';

export const languages: Readonly<Record<LanguageCode, Words>> = { en: english, ru: russian };

interface Language {
  readonly code: LanguageCode;
  readonly words: Words;
}

const LanguageContext = createContext<Language>({ code: 'en', words: english });
export const LanguageProvider = LanguageContext.Provider;

export const useWords = (): Words => useContext(LanguageContext).words;
export const useLanguage = (): LanguageCode => useContext(LanguageContext).code;

/** The first language of the browser that we have. */
export const preferredLanguage = (wanted: readonly string[]): LanguageCode =>
  wanted.map((tag) => tag.slice(0, 2)).find((code): code is LanguageCode => code in languages) ?? 'en';
