import { englishApproval } from './english/approval.ts';
import { englishCalls } from './english/calls.ts';
import type { InEachLanguage } from './language.ts';
import { russianApproval } from './russian/approval.ts';
import { russianCalls } from './russian/calls.ts';

export { type CommandHelp, helpText } from './help-text.ts';
export {
  isLanguageCode,
  isSupportedLanguage,
  type LanguageCode,
  languageFor,
  languageNames,
  languageOf,
} from './language.ts';
export { tellIn } from './outcome-sentences.ts';
export { type Sentence, sayIn } from './said.ts';
export { fill, type Values } from './template.ts';

/** The texts of an approval card, for every front end. */
export type ApprovalWords = typeof englishApproval;
export const approvalWords: InEachLanguage<ApprovalWords> = { en: englishApproval, ru: russianApproval };

/** How a call reads in a transcript, for every front end. */
export type CallWords = typeof englishCalls;
export const callWords: InEachLanguage<CallWords> = { en: englishCalls, ru: russianCalls };
