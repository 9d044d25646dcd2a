import { englishEmacs } from './english/emacs.ts';
import { englishReasons } from './english/reasons.ts';
import type { LanguageCode } from './language.ts';
import { russianApproval } from './russian/approval.ts';
import { russianEmacs } from './russian/emacs.ts';
import { russianReasons } from './russian/reasons.ts';
import { fill } from './template.ts';

type Texts = Readonly<Record<string, string>>;

/** A language as Emacs has it. English is in its sources and comes from the server. */
function emacsLanguage(
  own: Texts,
  titles: Readonly<Record<string, string | undefined>>,
  agent: string,
  reasons: Texts,
) {
  const texts = Object.entries(englishEmacs).map(([id, text]) => [text, own[id]]);
  const said = Object.entries(titles).map(([tool, title = '']) => [
    tool,
    fill(title, { who: agent, what: '%s' }),
  ]);
  // Emacs shows a reason in the person's language where its English is that of its rule. It fills no places.
  const closed = Object.entries(englishReasons).filter(([, text]) => !text.includes('{'));
  return {
    texts: Object.fromEntries(texts) as Texts,
    titles: Object.fromEntries(said) as Texts,
    reasons: Object.fromEntries(closed.map(([id, text]) => [id, [text, reasons[id]]])) as Record<
      string,
      unknown
    >,
  };
}

/** What apps/emacs/countersign-words.json holds: every language but English. */
const emacsWords: Readonly<Record<Exclude<LanguageCode, 'en'>, ReturnType<typeof emacsLanguage>>> = {
  ru: emacsLanguage(russianEmacs, russianApproval.title, russianApproval.agent('Agent'), russianReasons),
};

export const emacsFile = `${JSON.stringify(emacsWords, null, 1)}\n`;
