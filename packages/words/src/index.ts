import { englishApproval } from './english/approval.ts';
import type { InEachLanguage } from './language.ts';
import { russianApproval } from './russian/approval.ts';

export { type CommandHelp, helpText } from './help-text.ts';
export { isOurs, isSpoken, type LanguageCode, languageFor, languageNames, languageOf } from './language.ts';
export { type Sentence, sayIn } from './said.ts';
export { fill, type Values } from './template.ts';

/** How an approval reads, for every front end. */
export type ApprovalWords = typeof englishApproval;
export const approvalWords: InEachLanguage<ApprovalWords> = { en: englishApproval, ru: russianApproval };
