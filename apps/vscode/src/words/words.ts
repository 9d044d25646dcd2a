import { english, type Words } from './english.ts';
import { russian } from './russian.ts';

export type { Words } from './english.ts';

/** The words of the editor's own language; English where we do not have it. */
export const wordsFor = (language: string): Words => (/^ru\b/i.test(language) ? russian : english);
