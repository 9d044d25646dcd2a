import { outsideArgument, sensitiveLifted } from '../command/general-rules.ts';
import type { Judgement } from '../command/judgement.ts';
import { looksLikeOutsidePath, refuseUnsafe } from './program.ts';

/**
 * Arguments that a script gets: only it knows what they mean. A sensitive file among them is refused all the same
 * (VA-2); what looks like a path outside makes the call HIGH, because `/api/users` may be no path at all.
 */
export function judgeScriptArguments(args: readonly string[], judgement: Judgement): void {
  for (const arg of args) {
    for (const text of possiblePaths(arg)) {
      const checked = judgement.look(text);
      if (checked.ok) noteArgument(text, judgement);
      else if (checked.refused.code === 'PATH_SENSITIVE') judgement.refuse(checked.refused);
      else if (checked.refused.code === 'PATH_OUTSIDE_WORKSPACE' || looksLikeOutsidePath(text))
        judgement.raise(outsideArgument, arg);
    }
  }
}

/**
 * Words of a program or subcommand whose options Countersign does not know: whatever in them can be a path must be
 * inside and not sensitive, also glued to an option (`-C/etc`, `--data=@.env`).
 */
export function judgeUnknownWords(words: readonly string[], judgement: Judgement): void {
  for (const word of words) {
    for (const text of possiblePaths(word)) noteArgument(text, judgement);
    for (const text of gluedPaths(word)) refuseUnsafe(text, judgement);
    for (const text of partsOf(word)) refuseSensitive(text, judgement);
  }
}

/** The argument itself, and what follows its first `=` (`--config=x`). */
function possiblePaths(arg: string): readonly string[] {
  const equals = arg.indexOf('=');
  const value = equals < 0 ? '' : arg.slice(equals + 1);
  const whole = arg.startsWith('-') ? '' : arg;
  return [whole, value].filter((text) => text !== '' && text.length <= 4096);
}

/** Letters that may be bundled before a glued value: `-xvfC/etc`. */
const MOST_BUNDLED = 6;
/** More `=`, `:` or `,` than this in one word are not looked behind one by one. */
const MOST_PARTS = 30;

function gluedPaths(word: string): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (text: string): void => {
    const plain = text.replace(/^@/, '').replace(/^file:(\/\/)?/i, '');
    for (const path of [text, plain])
      if (path !== '' && (path === '-' || !path.startsWith('-'))) found.add(path);
  };
  add(word);
  let from = word.indexOf('=');
  for (let i = 0; from >= 0 && i < MOST_PARTS; i++) {
    add(word.slice(from + 1));
    from = word.indexOf('=', from + 1);
  }
  if (/^-[^-]/.test(word))
    for (let at = 2; at < Math.min(word.length, 2 + MOST_BUNDLED); at++) add(word.slice(at));
  return found;
}

/** `HEAD:.env`, `a,.env`, `.env:/app/.env`: lists and mounts, each part on its own. */
const partsOf = (word: string): readonly string[] => word.split(/[:,;=]/, MOST_PARTS);

function refuseSensitive(text: string, judgement: Judgement): void {
  if (text === '' || text.length > 4096) return;
  const checked = judgement.look(text.replace(/^@/, '') || '.');
  if (!checked.ok && checked.refused.code === 'PATH_SENSITIVE') judgement.refuse(checked.refused);
}

/**
 * Rules of policy files must see a file that is only an argument. It counts when it is there; where no disk was
 * looked at, a word with a slash and without blanks counts.
 */
function noteArgument(text: string, judgement: Judgement): void {
  const checked = judgement.look(text);
  if (!checked.ok) return;
  if (checked.liftedSensitive) judgement.raise(sensitiveLifted, text);
  const isFile = checked.entry !== undefined;
  const mayBeFile = text.includes('/') && !/\s|^[\w+.-]+:\/\//.test(text) && !judgement.seesDisk;
  if (isFile || mayBeFile) judgement.note(checked.relative, 'read');
}
