import { englishTerminal } from './english/terminal.ts';
import type { InEachLanguage } from './language.ts';
import { russianTerminal } from './russian/terminal.ts';

/** The texts of the `countersign` command. */
export type TerminalWords = typeof englishTerminal;
export const terminalWords: InEachLanguage<TerminalWords> = { en: englishTerminal, ru: russianTerminal };
