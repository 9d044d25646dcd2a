import { isSupportedLanguage, languageOf } from '@countersign/words';
import { type ServerWords, serverWords } from '@countersign/words/server';

export type { ServerWords };

/** The texts in the language of `--lang`; undefined if we do not have it. */
export const wordsInLanguage = (asked: string): ServerWords | undefined =>
  isSupportedLanguage(asked) ? serverWords[languageOf({}, asked)] : undefined;

/** The texts in the environment's language; English if we do not have it. */
export const wordsFor = (env: Readonly<Record<string, string | undefined>>): ServerWords =>
  serverWords[languageOf(env)];
