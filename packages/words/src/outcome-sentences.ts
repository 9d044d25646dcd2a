import { type ErrorCode, errorCodes } from '@countersign/protocol';
import type { LanguageCode } from './language.ts';
import { type Sentence, sayIn, sentencePlaces, sentences } from './said.ts';
import { fill, matchTemplate } from './template.ts';

/** Errors about the person, reworded to address the person as "you". */
const toPerson: Readonly<Record<LanguageCode, Readonly<Partial<Record<ErrorCode, string>>>>> = {
  en: {
    APPROVAL_REJECTED: 'You rejected this call.',
    REJECTED_BEFORE: 'You rejected this very call twice, so you are not asked again.',
  },
  ru: {
    APPROVAL_REJECTED: 'Вы отклонили этот вызов.',
    REJECTED_BEFORE: 'Вы дважды отклонили именно этот вызов, поэтому вас больше не спрашивают.',
  },
};

/**
 * Like `sayIn`, for the outcome of a tool call. Leaves out the advice for the agent at the end of an error ("Read the file
 * again and copy it exactly.").
 */
export function tellIn(language: LanguageCode): (sentence: Sentence) => string {
  const say = sayIn(language);
  return (sentence) => {
    const error = errorOf(sentence);
    if (!error) return say(sentence);
    const own = toPerson[language][error.code];
    const values = matchTemplate(sentences.en[error.code], error.message);
    if (own !== undefined && values) return own;
    if (!values || !hasAdviceForAgent(error.code)) return say(sentence);
    const translated = Object.entries(values).map(([name, value]) => [
      name,
      sentencePlaces.has(name) ? say(value) : value,
    ]);
    return fill(firstSentence(sentences[language][error.code]), Object.fromEntries(translated));
  };
}

/** The sentence of an error's code as `tellIn` shows it, with its placeholders. */
export const toldTemplate = (language: LanguageCode, code: ErrorCode): string =>
  toPerson[language][code] ??
  (hasAdviceForAgent(code) ? firstSentence(sentences[language][code]) : sentences[language][code]);

/**
 * The error's code and text. A call that ended because its run ended keeps its own code, but gets the text of the run's
 * error.
 */
function errorOf(sentence: Sentence): { readonly code: ErrorCode; readonly message: string } | undefined {
  if (typeof sentence !== 'string' && !('message' in sentence)) return undefined;
  const message = typeof sentence === 'string' ? sentence : sentence.message;
  const quoted = (Object.keys(toPerson.en) as ErrorCode[]).find((code) => sentences.en[code] === message);
  if (quoted !== undefined) return { code: quoted, message };
  if (typeof sentence === 'string' || !Object.hasOwn(errorCodes, String(sentence.code))) return undefined;
  return { code: sentence.code as ErrorCode, message };
}

const hasAdviceForAgent = (code: ErrorCode): boolean => {
  const { remedy, message } = errorCodes[code];
  return remedy === 'change' || /\bperson\b/.test(message);
};

const firstSentence = (template: string): string => template.split(/(?<=[.!?]) /)[0] ?? template;
