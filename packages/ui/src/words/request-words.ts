/** How a request and what is said about it read in each language, for places without React: an editor's own dialogs, a terminal. */
import { english } from './english.ts';
import { russian } from './russian.ts';
import type { LanguageCode, Words } from './words.ts';

export { languageOf } from './locale.ts';

export const requestWords: Readonly<Record<LanguageCode, Pick<Words, 'said' | 'approval'>>> = {
  en: english,
  ru: russian,
};
