import { englishPage } from './english/page.ts';
import type { InEachLanguage } from './language.ts';
import { russianPage } from './russian/page.ts';

/** The texts of the web page and of the chat in VS Code. */
export type PageWords = typeof englishPage;
export const pageWords: InEachLanguage<PageWords> = { en: englishPage, ru: russianPage };
