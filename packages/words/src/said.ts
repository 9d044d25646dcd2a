import { errorCodes, type Reason } from '@countersign/protocol';
import { englishMachine } from './english/machine.ts';
import { englishReasons } from './english/reasons.ts';
import type { InEachLanguage, LanguageCode } from './language.ts';
import { russianErrors } from './russian/errors.ts';
import { russianMachine } from './russian/machine.ts';
import { russianReasons } from './russian/reasons.ts';
import { fill, readBack, type Values } from './template.ts';

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

/**
 * The places that hold a sentence of ours. All others hold data (a path, a program, a command to copy) and are kept
 * letter for letter, even where the data reads like a sentence.
 */
export const sentencePlaces: ReadonlySet<string> = new Set([
  'advice',
  'holder',
  'how',
  'kind',
  'opener',
  'outcome',
  'owner',
  'place',
  'problem',
  'problems',
  'question',
  'remedy',
  'why',
]);
/** A text that fills one of these places otherwise was not made by our code. */
const shapes: Readonly<Record<string, RegExp>> = { risk: /^(LOW|MEDIUM|HIGH)$/, rest: /^\d+$/ };

/** The sentences that a text may be: those without a place, by their English, and those with places. */
interface Choice {
  readonly closed: ReadonlyMap<string, SentenceId>;
  readonly open: readonly SentenceId[];
}
/** The first id wins where several say the same. */
const choiceOf = (ids: readonly SentenceId[]): Choice => {
  const isOpen = (id: SentenceId): boolean => english[id].includes('{');
  const closed = ids.filter((id) => !isOpen(id)).toReversed();
  return { closed: new Map(closed.map((id) => [english[id], id])), open: ids.filter(isOpen) };
};

const isIn = (table: object, id: unknown): id is SentenceId =>
  typeof id === 'string' && Object.hasOwn(table, id);
const anySentence = choiceOf(Object.keys(english) as SentenceId[]);
const anyReason = choiceOf(Object.keys(englishReasons) as SentenceId[]);
const notReasons = choiceOf((Object.keys(english) as SentenceId[]).filter((id) => !isIn(englishReasons, id)));
/** What these places may hold. A policy's own `why` is the words of whoever wrote that file. */
const choiceAt: Readonly<Record<string, Choice>> = {
  why: choiceOf(['rule-denies-this']),
  owner: choiceOf(['owner-person', 'owner-workspace', 'owner-machine']),
  place: { ...anyReason, open: [] },
  kind: { ...anyReason, open: [] },
};

/** What our code says of a rule of a policy file, if that file does not say why. */
const saidOfPolicies = choiceOf([
  'own-policy-allows',
  'own-policy-asks',
  'workspace-policy-asks',
  'chose-always',
  'may-show-what-rule',
  'denied-by-policy',
]);
/** What rules of ours say beside their own sentence, where that has a place to be filled. */
const alsoSaid: Readonly<Record<string, readonly SentenceId[]>> = {
  'CMD-ARGS-1': [],
  MORE: ['more-reasons-to-fetch'],
  'PARAM-1': [],
  'PATH-1': ['path-problem'],
  'PATH-2': ['path-problem'],
  'PATH-3': ['path-problem'],
  'PATH-8': [],
  'READ-3': ['bad-expression'],
  'SH-0': ['does-not-parse', 'cannot-be-checked', 'command-not-usable'],
};
/** What any rule says that is about a place: the place that is named must be that of the rule. */
const saidOfPlaces: readonly SentenceId[] = [
  'sensitive-file',
  'changes-place',
  'writes-place',
  'path-executable',
];

/** Rules have capital letters; other sentences have names. */
const isOurRule = (rule: string): boolean =>
  /^[A-Z]/.test(rule) && (Object.hasOwn(englishReasons, rule) || Object.hasOwn(alsoSaid, rule));

/**
 * What a reason of this rule may be. Whoever writes a policy file chooses both the id and the sentence of a rule, so a
 * sentence with places is looked for only under the rules whose sentence it is.
 */
function choiceOfRule(rule: string): Choice {
  if (!isOurRule(rule)) return saidOfPolicies;
  const own = isIn(englishReasons, rule) ? choiceOf([rule]).open : [];
  const closed = new Map([
    ...anyReason.closed,
    ...(isIn(englishReasons, rule) ? choiceOf([rule]).closed : []),
  ]);
  return { closed, open: [...own, ...(alsoSaid[rule] ?? []), ...saidOfPlaces, ...saidOfPolicies.open] };
}

/**
 * Says in a language what server and runner said in English. The id picks a template, and the sentence decides: only if
 * it is that template's English, letter for letter, is the translation shown, filled with the same values. Otherwise a
 * wrong id could make a card say something else than was written, and hashed. A sentence that is quoted inside another
 * comes without an id, and is found by its English. What is not ours stays as it was.
 */
export function sayIn(language: LanguageCode): (sentence: Sentence) => string {
  if (language === 'en') return textOf;
  const translated = sentences[language];

  /** `quoted` is what may stand in the places of it; `rule` is that of a reason. */
  const translate = (text: string, choice: Choice, quoted: Choice, depth: number, rule?: string): string => {
    const closed = choice.closed.get(text);
    if (closed !== undefined) return translated[closed];
    if (depth === 0 || text.length > maxLength) return text;
    for (const id of choice.open) {
      const values = readBack(english[id], text);
      if (!values || !fits(values, rule)) continue;
      const said = Object.entries(values).map(([name, value]) => [
        name,
        sentencePlaces.has(name) ? translate(value, choiceAt[name] ?? quoted, quoted, depth - 1) : value,
      ]);
      return fill(translated[id], Object.fromEntries(said) as Record<string, string>);
    }
    return text;
  };
  return (sentence) => {
    const text = textOf(sentence);
    if (typeof sentence === 'string') return translate(text, anySentence, anySentence, maxDepth);
    if ('why' in sentence)
      return translate(text, choiceOfRule(sentence.rule), anyReason, maxDepth, sentence.rule);
    const { code } = sentence;
    if (!isIn(errorCodes, code)) return translate(text, anySentence, anySentence, maxDepth);
    const { closed, open } = notReasons;
    return translate(text, { closed, open: [code, ...open] }, anySentence, maxDepth);
  };
}

/** Whether our code can have filled a template with these, in a reason of this rule where it is one. */
function fits(values: Values, rule: string | undefined): boolean {
  const { owner, place, kind } = values;
  if (owner !== undefined && !choiceAt.owner?.closed.has(owner)) return false;
  if (place !== undefined && !anyReason.closed.has(place)) return false;
  if (rule !== undefined && isIn(englishReasons, rule)) {
    const named = place ?? (rule === 'PATH-6' ? undefined : kind); // its kind is that of another rule
    if (named !== undefined && named !== english[rule]) return false;
  }
  return Object.entries(values).every(([name, value]) => shapes[name]?.test(value) ?? true);
}

function textOf(sentence: Sentence): string {
  if (typeof sentence === 'string') return sentence;
  return 'why' in sentence ? sentence.why : sentence.message;
}
