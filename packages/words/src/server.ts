import { englishServer } from './english/server.ts';
import type { InEachLanguage } from './language.ts';
import { russianServer } from './russian/server.ts';

/** The texts of `countersign serve`. */
export type ServerWords = typeof englishServer;
export const serverWords: InEachLanguage<ServerWords> = { en: englishServer, ru: russianServer };
