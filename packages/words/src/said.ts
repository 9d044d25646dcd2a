import { errorCodes, type Reason } from '@countersign/protocol';
import { englishMachine } from './english/machine.ts';
import { englishReasons } from './english/reasons.ts';
import type { InEachLanguage, LanguageCode } from './language.ts';
import { russianErrors } from './russian/errors.ts';
import { russianMachine } from './russian/machine.ts';
import { russianReasons } from './russian/reasons.ts';
import { fill, readBack } from './template.ts';

const english = {
  ...englishMachine,
  ...(Object.fromEntries(Object.entries(errorCodes).map(([code, { message }]) => [code, message])) as Record<
    keyof typeof errorCodes,
    string
  >),
  ...englishReasons,
};

export type SentenceId = keyof typeof english;
export type Sentences = Readonly<Record<SentenceId, string>>;

/** What server and runner say, by id: the rule of a reason, the code of an error, the name of any other sentence. */
export const sentences: InEachLanguage<Sentences> = {
  en: english,
  ru: { ...russianMachine, ...russianErrors, ...russianReasons },
};

/** A sentence of server or runner, with its id where it has one. */
export type Sentence =
  | string
  | Pick<Reason, 'rule' | 'why'>
  | { readonly message: string; readonly code?: unknown };

/** Longer texts cannot be one of our sentences, so they are not searched. */
const maxLength = 2_000;
/** A sentence quotes a problem, which may quote a kind of file. */
const maxDepth = 3;

const isOpen = (template: string): boolean => template.includes('{');
const ids = Object.keys(english) as SentenceId[];
const openIds = ids.filter((id) => isOpen(english[id]));
/** Sentences without a place to be filled. The first id wins where several rules say the same. */
const closedIds = new Map(ids.toReversed().map((id) => [english[id], id]));

/**
 * Says in a language what server and runner said in English. The id picks a template, and the sentence decides: only if
 * it is that template's English, letter for letter, is the translation shown, filled with the same values. Otherwise a
 * wrong id could make a card say something else than was written, and hashed. A sentence that is quoted inside another
 * comes without an id, and is found by its English. What is not ours stays as it was.
 */
export function sayIn(language: LanguageCode): (sentence: Sentence) => string {
  if (language === 'en') return textOf;
  const translated = sentences[language];

  const translate = (text: string, id: SentenceId | undefined, depth: number): string => {
    const closed = closedIds.get(text);
    if (closed !== undefined) return translated[id !== undefined && english[id] === text ? id : closed];
    if (depth === 0 || text.length > maxLength) return text;
    for (const candidate of id === undefined ? openIds : [id, ...openIds]) {
      const values = readBack(english[candidate], text);
      if (!values) continue;
      const said = Object.entries(values).map(([name, value]) => [
        name,
        translate(value, undefined, depth - 1),
      ]);
      return fill(translated[candidate], Object.fromEntries(said) as Record<string, string>);
    }
    return text;
  };
  return (sentence) => translate(textOf(sentence), idOf(sentence), maxDepth);
}

function textOf(sentence: Sentence): string {
  if (typeof sentence === 'string') return sentence;
  return 'why' in sentence ? sentence.why : sentence.message;
}

function idOf(sentence: Sentence): SentenceId | undefined {
  if (typeof sentence === 'string') return undefined;
  const id = 'why' in sentence ? sentence.rule : sentence.code;
  return typeof id === 'string' && Object.hasOwn(english, id) ? (id as SentenceId) : undefined;
}
