import { type LanguageCode, languageFor } from '@countersign/words';
import { pageWords as languages, type PageWords as Words } from '@countersign/words/page';
import { createContext, useContext } from 'react';

export type { LanguageCode, Words };
export { languages };

interface Language {
  readonly code: LanguageCode;
  readonly words: Words;
}

const LanguageContext = createContext<Language>({ code: 'en', words: languages.en });
export const LanguageProvider = LanguageContext.Provider;

export const useWords = (): Words => useContext(LanguageContext).words;
export const useLanguage = (): LanguageCode => useContext(LanguageContext).code;

/** The first of the browser's languages that the page has texts for. */
export const preferredLanguage = languageFor;
