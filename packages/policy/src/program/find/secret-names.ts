import { judgeGlob } from '../../command/sensitive-glob.ts';
import { sensitivePlaces } from '../../sensitive-places.ts';

/** Whether a pattern of -name or -path picks sensitive files and hardly anything else. */
export function picksSecretsByName(pattern: string): boolean {
  if (judgeGlob(pattern) !== 'sensitive') return false;
  // `*key*` and `*token*` are words of any program; `*npmrc*` is not.
  const word = /^\*([\w-]+)\*$/.exec(pattern)?.[1];
  if (word === undefined) return true;
  return sensitivePlaces.find(word) !== undefined || sensitivePlaces.find(`.${word}`) !== undefined;
}

/** The same for a regular expression of any of find's dialects. It is only read, never run. */
export function picksSecretsByRegex(pattern: string): boolean {
  const globs = toGlobs(pattern);
  // What has more readings than we follow may be meant for secrets as well as for anything else.
  return globs === undefined || globs.some(picksSecretsByName);
}

const MOST_GLOBS = 64;
const MOST_CHARACTERS = 1_000;

/**
 * The shell patterns that together match at least what the expression matches; undefined when they are too many.
 * `\\(` and `(` both open a group and `\\|` and `|` both separate, because the dialect is not known.
 */
function toGlobs(pattern: string): readonly string[] | undefined {
  if (pattern.length > MOST_CHARACTERS) return undefined;
  const text = pattern.replace(/\\([()|{}+?])/g, '$1');
  // Each open group: the readings that stand before it, the alternatives so far, and the one being read.
  const outer: { before: string[]; done: string[] }[] = [];
  let done: string[] = [];
  let open: string[] = [''];
  let lastAtom: string[] = [''];
  const append = (atom: string): void => {
    lastAtom = open;
    open = open.map((glob) => glob + atom);
  };
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    if (character === '(') {
      outer.push({ before: open, done });
      done = [];
      open = [''];
      lastAtom = open;
    } else if (character === ')') {
      const group = outer.pop();
      if (!group) continue;
      const choices = [...done, ...open];
      lastAtom = group.before;
      open = group.before.flatMap((glob) => choices.map((choice) => glob + choice));
      done = group.done;
    } else if (character === '|') {
      done = [...done, ...open];
      open = [''];
    } else if (character === '*' || character === '+' || character === '?') {
      open = lastAtom.map((glob) => `${glob}*`);
    } else if (character === '{') {
      const end = text.indexOf('}', at);
      at = end < 0 ? text.length : end;
      open = lastAtom.map((glob) => `${glob}*`);
    } else if (character === '.') append('?');
    else if (character === '[') {
      const end = text.indexOf(']', at + 2);
      append(end < 0 ? '*' : text.slice(at, end + 1));
      if (end >= 0) at = end;
    } else if (character === '\\') {
      at++;
      append(text[at] ?? '');
    } else if (character !== '^' && character !== '$') append(character);
    if (open.length + done.length > MOST_GLOBS) return undefined;
  }
  while (outer.length > 0) {
    const group = outer.pop() as { before: string[]; done: string[] };
    open = [...done, ...open];
    done = group.done;
    open = group.before.flatMap((glob) => open.map((choice) => glob + choice)).slice(0, MOST_GLOBS);
  }
  return [...done, ...open];
}
