import { languageOf } from '@countersign/ui/request-words';
import { english, type ServeWords } from './english.ts';
import { russian } from './russian.ts';

export type { ServeWords } from './english.ts';

const languages: Readonly<Record<string, ServeWords>> = { en: english, ru: russian };

/** The words of the language that was asked for, else that of the environment; nothing for one that is not ours. */
export const askedWords = (asked: string): ServeWords | undefined => languages[languageOf({}, asked)];

/** The words of the environment's language; English where we do not have it. */
export const wordsFor = (env: Readonly<Record<string, string | undefined>>): ServeWords =>
  languages[languageOf(env)] ?? english;
