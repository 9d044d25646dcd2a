import { scopeLabel, titleOf } from '@countersign/approvals';
import type { OfferedScope } from '@countersign/protocol';
import { approvalWords, type LanguageCode, languageOf } from '@countersign/words';
import { type TerminalWords, terminalWords } from '@countersign/words/terminal';

export { isSpoken } from '@countersign/words';

/** What the terminal says in one language. */
export interface Words extends TerminalWords {
  /** One sentence about a request. */
  title(request: Parameters<typeof titleOf>[0]): string;
  /** What a wider approval covers. */
  scope(offer: OfferedScope): string;
}

const wordsIn = (language: LanguageCode): Words => ({
  ...terminalWords[language],
  title: (request) => titleOf(request, approvalWords[language]),
  scope: (offer) => (language === 'en' ? offer.label : scopeLabel(offer, approvalWords[language])),
});

/** The words of the language that was asked for, else that of the environment, as programs in a terminal do it. */
export const wordsFor = (env: Readonly<Record<string, string | undefined>>, asked?: string): Words =>
  wordsIn(languageOf(env, asked));
