import { type ErrorCode, errorCodes } from '@countersign/protocol';

/** Longer texts are nobody's sentence; looking for one in them would only take time. */
const maxLength = 2_000;
/** A sentence quotes a problem, which may quote a kind of file. */
const maxDepth = 3;

interface Phrase {
  readonly pattern: RegExp;
  readonly names: readonly string[];
  readonly translated: string;
}

/**
 * Says what server and runner say in another language. A phrase is known by its English words, not by the id that came
 * with it: whoever invents a rule under a known id cannot make the page say something else than they wrote. `{name}`
 * stands for what differs each time, and is translated where it is a phrase itself. What is not known stays as it was.
 */
export function translator(phrases: Iterable<readonly [english: string, translated: string]>) {
  const whole = new Map<string, string>();
  const open: Phrase[] = [];
  for (const [english, translated] of phrases) {
    if (english.includes('{')) open.push(phraseOf(english, translated));
    else whole.set(english, translated);
  }
  const say = (text: string, depth: number): string => {
    const exact = whole.get(text);
    if (exact !== undefined || depth === 0 || text.length > maxLength) return exact ?? text;
    for (const { pattern, names, translated } of open) {
      const values = pattern.exec(text);
      if (!values) continue;
      return translated.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        say(values[names.indexOf(name) + 1] ?? '', depth - 1),
      );
    }
    return text;
  };
  return (text: string): string => say(text, maxDepth);
}

function phraseOf(english: string, translated: string): Phrase {
  const [first = '', ...parts] = english.split(/\{(\w+)\}/);
  const names = parts.filter((_, index) => index % 2 === 0);
  const rest = parts.map((part, index) => (index % 2 === 0 ? '(.*?)' : literal(part)));
  return { pattern: new RegExp(`^${literal(first)}${rest.join('')}$`, 's'), names, translated };
}

const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** The messages of errors, known by the English ones of the protocol. */
export const errorPhrases = (
  messages: Readonly<Record<ErrorCode, string>>,
): (readonly [english: string, translated: string])[] =>
  Object.entries(messages).map(([code, message]) => [errorCodes[code as ErrorCode].message, message]);
