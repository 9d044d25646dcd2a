import { isSpoken, languageOf } from '@countersign/words';
import { type ServerWords, serverWords } from '@countersign/words/server';

export type { ServerWords as ServeWords };

/** The words of the language that was asked for; nothing for one that is not ours. */
export const askedWords = (asked: string): ServerWords | undefined =>
  isSpoken(asked) ? serverWords[languageOf({}, asked)] : undefined;

/** The words of the environment's language; English where we do not have it. */
export const wordsFor = (env: Readonly<Record<string, string | undefined>>): ServerWords =>
  serverWords[languageOf(env)];
