import { errorCodes, type Reason } from '@countersign/protocol';
import { englishMachine } from './english/machine.ts';
import { englishReasons } from './english/reasons.ts';
import type { InEachLanguage, LanguageCode } from './language.ts';
import { russianErrors } from './russian/errors.ts';
import { russianMachine } from './russian/machine.ts';
import { russianReasons } from './russian/reasons.ts';
import { fill, matchTemplate, type Values } from './template.ts';

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

/** The sentences of server and runner, by id: the rule of a reason, the code of an error, or a name. */
export const sentences: InEachLanguage<Sentences> = {
  en: english,
  ru: { ...russianMachine, ...russianErrors, ...russianReasons },
};

/** A sentence that server or runner sent, with its id if it has one. */
export type Sentence =
  | string
  | Pick<Reason, 'rule' | 'why'>
  | { readonly message: string; readonly code?: unknown };

/** Our sentences are shorter: longer texts are not translated. */
const maxLength = 2_000;
/** How deeply sentences are nested: a sentence may quote a problem, which may quote a kind of file. */
const maxDepth = 3;

/**
 * The placeholders that contain a sentence of ours, which is translated too. All others contain data (a path, a program, a
 * command to copy), which stays as it is even if it reads like a sentence.
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
/** The values that our code puts into these placeholders. A text with another value was not made by our code. */
const shapes: Readonly<Record<string, RegExp>> = { risk: /^(LOW|MEDIUM|HIGH)$/, rest: /^\d+$/ };

/** The sentences that a text may be. */
interface Candidates {
  /** Sentences without placeholders, by their English. */
  readonly exact: ReadonlyMap<string, SentenceId>;
  /** Sentences with placeholders. */
  readonly templates: readonly SentenceId[];
}
/** If several sentences have the same English, the first id is taken. */
const candidatesOf = (ids: readonly SentenceId[]): Candidates => {
  const isTemplate = (id: SentenceId): boolean => english[id].includes('{');
  const exact = ids.filter((id) => !isTemplate(id)).toReversed();
  return { exact: new Map(exact.map((id) => [english[id], id])), templates: ids.filter(isTemplate) };
};

const isIn = (table: object, id: unknown): id is SentenceId =>
  typeof id === 'string' && Object.hasOwn(table, id);
const anySentence = candidatesOf(Object.keys(english) as SentenceId[]);
const anyReason = candidatesOf(Object.keys(englishReasons) as SentenceId[]);
const notReasons = candidatesOf(
  (Object.keys(english) as SentenceId[]).filter((id) => !isIn(englishReasons, id)),
);
/** The sentences that these placeholders may contain. The `why` of a policy file is not ours, so it is not translated. */
const candidatesAt: Readonly<Record<string, Candidates>> = {
  why: candidatesOf(['rule-denies-this']),
  owner: candidatesOf(['owner-person', 'owner-workspace', 'owner-machine']),
  place: { ...anyReason, templates: [] },
  kind: { ...anyReason, templates: [] },
};

/** Our sentences for a rule of a policy file that has no `why`. */
const policySentences = candidatesOf([
  'own-policy-allows',
  'own-policy-asks',
  'workspace-policy-asks',
  'chose-always',
  'may-show-what-rule',
  'denied-by-policy',
]);
/** Further templates that a rule of ours uses beside its own sentence. */
const furtherTemplates: Readonly<Record<string, readonly SentenceId[]>> = {
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
/** Templates for all rules about a kind of file. The kind in the text must be that of the rule (see `mayBeOurs`). */
const placeTemplates: readonly SentenceId[] = [
  'sensitive-file',
  'changes-place',
  'writes-place',
  'path-executable',
];

/** Ids of rules start with a capital letter; names of other sentences do not. */
const isOurRule = (rule: string): boolean =>
  /^[A-Z]/.test(rule) && (Object.hasOwn(englishReasons, rule) || Object.hasOwn(furtherTemplates, rule));

/**
 * The sentences that a reason of this rule may be. The author of a policy file chooses the id and the text of a rule, so a
 * template is tried only for the rules of ours that use it.
 */
function candidatesOfRule(rule: string): Candidates {
  if (!isOurRule(rule)) return policySentences;
  const own = candidatesOf(isIn(englishReasons, rule) ? [rule] : []);
  const further = furtherTemplates[rule] ?? [];
  return {
    exact: new Map([...anyReason.exact, ...own.exact]),
    templates: [...own.templates, ...further, ...placeTemplates, ...policySentences.templates],
  };
}

/**
 * Returns a function that translates the English sentences of server and runner. It translates a text only if the text is
 * exactly the English of one of our sentences, filled with some values, and it gives the translation the same values. The
 * id only limits which templates are tried, so a wrong id cannot make a card say anything else than the English that its
 * digest covers. A sentence quoted inside another has no id and is found by its English. Other texts stay unchanged.
 */
export function sayIn(language: LanguageCode): (sentence: Sentence) => string {
  if (language === 'en') return textOf;
  const translated = sentences[language];

  /** `quoted`: the sentences that its placeholders may contain. `rule`: the rule if the text is a reason. */
  const translate = (
    text: string,
    candidates: Candidates,
    quoted: Candidates,
    depth: number,
    rule?: string,
  ): string => {
    const exact = candidates.exact.get(text);
    if (exact !== undefined) return translated[exact];
    if (depth === 0 || text.length > maxLength) return text;
    for (const id of candidates.templates) {
      const values = matchTemplate(english[id], text);
      if (!values || !mayBeOurs(values, rule)) continue;
      const filled = Object.entries(values).map(([name, value]) => [
        name,
        sentencePlaces.has(name) ? translate(value, candidatesAt[name] ?? quoted, quoted, depth - 1) : value,
      ]);
      return fill(translated[id], Object.fromEntries(filled) as Record<string, string>);
    }
    return text;
  };
  return (sentence) => {
    const text = textOf(sentence);
    if (typeof sentence === 'string') return translate(text, anySentence, anySentence, maxDepth);
    if ('why' in sentence)
      return translate(text, candidatesOfRule(sentence.rule), anyReason, maxDepth, sentence.rule);
    const { code } = sentence;
    if (!isIn(errorCodes, code)) return translate(text, anySentence, anySentence, maxDepth);
    const { exact, templates } = notReasons;
    return translate(text, { exact, templates: [code, ...templates] }, anySentence, maxDepth);
  };
}

/** Whether our code can have filled a template with these values, in a reason of this rule if one is given. */
function mayBeOurs(values: Values, rule: string | undefined): boolean {
  const { owner, place, kind } = values;
  if (owner !== undefined && !candidatesAt.owner?.exact.has(owner)) return false;
  if (place !== undefined && !anyReason.exact.has(place)) return false;
  if (rule !== undefined && isIn(englishReasons, rule)) {
    const named = place ?? (rule === 'PATH-6' ? undefined : kind); // PATH-6 quotes the kind of another rule
    if (named !== undefined && named !== english[rule]) return false;
  }
  return Object.entries(values).every(([name, value]) => shapes[name]?.test(value) ?? true);
}

function textOf(sentence: Sentence): string {
  if (typeof sentence === 'string') return sentence;
  return 'why' in sentence ? sentence.why : sentence.message;
}
