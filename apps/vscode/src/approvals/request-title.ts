import { type ApprovalRequest, scopeLabel, titleOf } from '@countersign/approvals';
import type { OfferedScope } from '@countersign/protocol';
import { requestWords } from '@countersign/ui/request-words';
import type { Words } from '../words/words.ts';

/** The sentence about a request, as the chat's card has it, in the person's language. */
export const requestTitle = (request: ApprovalRequest, { language }: Words): string =>
  titleOf(request, requestWords[language]);

/** What a wider approval covers, as the chat's card says it. */
export const scopeTitle = (offer: OfferedScope, { language }: Words): string =>
  scopeLabel(offer, requestWords[language]);

/** A sentence of the server or runner in the person's language, if that language has it. */
export const said = (text: string, { language }: Words): string => requestWords[language].said(text);
