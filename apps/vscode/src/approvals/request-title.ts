import { type ApprovalRequest, type ScopeChoice, scopeLabel, titleOf } from '@countersign/approvals';
import { approvalWords, type Sentence, sayIn, tellIn } from '@countersign/words';
import type { Words } from '../words.ts';

/** The title of a request, the same as on the chat's card. */
export const requestTitle = (request: ApprovalRequest, { language }: Words): string =>
  titleOf(request, approvalWords[language]);

/** What a wider approval covers, in the same words as on the chat's card. */
export const scopeTitle = (choice: ScopeChoice, { language }: Words): string =>
  scopeLabel(choice, approvalWords[language]);

/** Translates a sentence of the server or the runner, if the person's language has a translation. */
export const said = (sentence: Sentence, { language }: Words): string => sayIn(language)(sentence);

/** Like `said`, for the outcome of a tool call. Leaves out the advice that is meant for the agent. */
export const told = (sentence: Sentence, { language }: Words): string => tellIn(language)(sentence);
