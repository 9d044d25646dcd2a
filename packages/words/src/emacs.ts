import type { englishApproval } from './english/approval.ts';
import { englishReasons } from './english/reasons.ts';
import type { LanguageCode } from './language.ts';
import { russianApproval } from './russian/approval.ts';
import { russianEmacs } from './russian/emacs.ts';
import { russianReasons } from './russian/reasons.ts';

/** A language as Emacs has it. English stands in its sources and comes from the server. */
interface EmacsLanguage {
  /** The language environment of Emacs that speaks it. */
  readonly environment: string;
  /** By the English in the sources of Emacs. */
  readonly texts: Readonly<Record<keyof typeof russianEmacs, string>>;
  /** By tool, with places for who calls and for parameters, as on the page. */
  readonly titles: typeof englishApproval.title;
  readonly callers: typeof englishApproval.callers;
  /** By rule: the English, and what is shown where the server sent just that. */
  readonly reasons: Readonly<Record<string, readonly [english: string, shown: string]>>;
}

const reasonPairs = (
  shown: Readonly<Record<keyof typeof englishReasons, string>>,
): EmacsLanguage['reasons'] => {
  const ids = Object.keys(englishReasons) as (keyof typeof englishReasons)[];
  const closed = ids.filter((id) => !englishReasons[id].includes('{')); // Emacs fills no places
  return Object.fromEntries(closed.map((id) => [id, [englishReasons[id], shown[id]]]));
};

const languages: Readonly<Record<Exclude<LanguageCode, 'en'>, EmacsLanguage>> = {
  ru: {
    environment: 'Russian',
    texts: russianEmacs,
    titles: russianApproval.title,
    callers: russianApproval.callers,
    reasons: reasonPairs(russianReasons),
  },
};

/** What apps/emacs/countersign-words.json holds: every language but English. */
export const emacsFile = `${JSON.stringify(languages, null, 1)}\n`;
