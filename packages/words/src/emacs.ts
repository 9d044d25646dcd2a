import { type ErrorCode, errorCodes } from '@countersign/protocol';
import { englishApproval } from './english/approval.ts';
import { type CallTitle, englishCalls } from './english/calls.ts';
import { englishReasons } from './english/reasons.ts';
import type { LanguageCode } from './language.ts';
import { toldTemplate } from './outcome-sentences.ts';
import { russianApproval } from './russian/approval.ts';
import { russianCalls } from './russian/calls.ts';
import { russianEmacs } from './russian/emacs.ts';
import { russianReasons } from './russian/reasons.ts';
import { type SentenceId, sentencePlaces, sentences } from './said.ts';

/** Words that the sources of Emacs do not contain in any language. */
interface SharedWords {
  /** Titles of calls by tool, in the tense of their state. */
  readonly calls: Readonly<Record<string, CallTitle>>;
  readonly modes: typeof englishApproval.modes;
  /** The workspace's own folder. */
  readonly root: string;
  /** By error code: the English text, the text for people, and the text for people if the error went to the agent. */
  readonly errors: Readonly<Record<string, readonly [english: string, said: string, told: string]>>;
}

/** The translations that Emacs loads for one language. English needs fewer: it is in the sources of Emacs and of the server. */
interface EmacsLanguage extends SharedWords {
  /** The name of the language environment in Emacs. */
  readonly environment: string;
  /** Translations by the English text in the sources of Emacs. */
  readonly texts: Readonly<Record<keyof typeof russianEmacs, string>>;
  /** Titles of cards by tool, with placeholders for the caller and for parameters. */
  readonly titles: typeof englishApproval.title;
  readonly callers: typeof englishApproval.callers;
  /** By rule: the English, and the translation that is shown if the server sent exactly that English. */
  readonly reasons: Readonly<Record<string, readonly [english: string, shown: string]>>;
  /** Sentences of server and runner without placeholders, by their English. Other sentences quote them. */
  readonly sentences: Readonly<Record<string, string>>;
  /** The placeholders that contain a sentence of ours. */
  readonly places: readonly string[];
}

const reasonPairs = (
  shown: Readonly<Record<keyof typeof englishReasons, string>>,
): EmacsLanguage['reasons'] => {
  const ids = Object.keys(englishReasons) as (keyof typeof englishReasons)[];
  const exact = ids.filter((id) => !englishReasons[id].includes('{')); // Emacs does not fill placeholders
  return Object.fromEntries(exact.map((id) => [id, [englishReasons[id], shown[id]]]));
};

const sharedWords = (
  language: LanguageCode,
  { modes }: Pick<typeof englishApproval, 'modes'>,
  { title, root }: Pick<typeof englishCalls, 'title' | 'root'>,
): SharedWords => ({ calls: title, modes, root, errors: errorTriples(language) });

/** Errors that Emacs shows with another text than the server's: translated, or without advice for the agent. */
function errorTriples(language: LanguageCode): SharedWords['errors'] {
  const codes = Object.keys(errorCodes) as ErrorCode[];
  const triples = codes.map(
    (code) => [code, [sentences.en[code], sentences[language][code], toldTemplate(language, code)]] as const,
  );
  return Object.fromEntries(
    triples.filter(([, [english, said, told]]) => said !== english || told !== english),
  );
}

/** The sentences that Emacs finds by their whole English. */
const exactSentences = (language: LanguageCode): EmacsLanguage['sentences'] =>
  Object.fromEntries(
    (Object.keys(sentences.en) as SentenceId[])
      .filter((id) => !sentences.en[id].includes('{'))
      .map((id) => [sentences.en[id], sentences[language][id]]),
  );

const languages: Readonly<Record<Exclude<LanguageCode, 'en'>, EmacsLanguage>> & { readonly en: SharedWords } =
  {
    ru: {
      environment: 'Russian',
      texts: russianEmacs,
      titles: russianApproval.title,
      callers: russianApproval.callers,
      reasons: reasonPairs(russianReasons),
      sentences: exactSentences('ru'),
      places: [...sentencePlaces],
      ...sharedWords('ru', russianApproval, russianCalls),
    },
    en: sharedWords('en', englishApproval, englishCalls),
  };

/** The content of apps/emacs/countersign-words.json. */
export const emacsFile = `${JSON.stringify(languages, null, 1)}\n`;
