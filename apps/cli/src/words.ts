import { type ScopeChoice, scopeLabel, titleOf } from '@countersign/approvals';
import {
  type ApprovalWords,
  approvalWords,
  type CallWords,
  callWords,
  type LanguageCode,
  languageOf,
  type Sentence,
  tellIn,
} from '@countersign/words';
import { type TerminalWords, terminalWords } from '@countersign/words/terminal';

export { isSupportedLanguage } from '@countersign/words';

/** All texts of the terminal in one language. */
export interface Words extends TerminalWords {
  /** How a call and its result read. */
  readonly calls: CallWords;
  /** The modes of a conversation. */
  readonly modes: ApprovalWords['modes'];
  /** Trying a call before it is decided. */
  readonly trial: Pick<ApprovalWords, 'tryFirst' | 'approveChanges' | 'trying' | 'tryingNeeded'>;
  /** One sentence that describes a request. */
  title(request: Parameters<typeof titleOf>[0]): string;
  /** Like `said`, for the outcome of a tool call. Leaves out the advice that is meant for the agent. */
  told(sentence: Sentence): string;
  /** What a wider approval covers. */
  scope(choice: ScopeChoice): string;
}

const wordsIn = (language: LanguageCode): Words => ({
  ...terminalWords[language],
  calls: callWords[language],
  modes: approvalWords[language].modes,
  trial: approvalWords[language],
  title: (request) => titleOf(request, approvalWords[language]),
  told: tellIn(language),
  scope: (choice) => scopeLabel(choice, approvalWords[language]),
});

/** The texts in the language of `--lang`, else that of the environment (LANG). */
export const wordsFor = (env: Readonly<Record<string, string | undefined>>, asked?: string): Words =>
  wordsIn(languageOf(env, asked));
