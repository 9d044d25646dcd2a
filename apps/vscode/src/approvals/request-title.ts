import { type ApprovalRequest, scopeLabel, titleOf } from '@countersign/approvals';
import type { OfferedScope } from '@countersign/protocol';
import { approvalWords, type Sentence, sayIn } from '@countersign/words';
import type { Words } from '../words.ts';

/** The sentence about a request, as the chat's card has it, in the person's language. */
export const requestTitle = (request: ApprovalRequest, { language }: Words): string =>
  titleOf(request, approvalWords[language]);

/** What a wider approval covers, as the chat's card says it. */
export const scopeTitle = (offer: OfferedScope, { language }: Words): string =>
  scopeLabel(offer, approvalWords[language]);

/** What server and runner say, in the person's language where it has a sentence for it. */
export const said = (sentence: Sentence, { language }: Words): string => sayIn(language)(sentence);
