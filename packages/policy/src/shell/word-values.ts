import {
  type Assignment,
  type Command,
  type DoubleQuotedChild,
  parse,
  type Word,
  type WordPart,
} from 'unbash';
import {
  ANY_CHARACTER,
  hasMark,
  NUMBER,
  STAR,
  TOO_MANY,
  UNKNOWN,
  UNSET,
  UNSET_QUOTED,
  unquoted,
  VANISHING,
  whenUnset,
  withoutForgedMarks,
} from '../program/marks.ts';
import { evaluateArithmetic } from './arithmetic-value.ts';
import { expandBraces } from './brace-expansion.ts';
import { evaluateParameter, evaluateSimple, joinFields, type ParameterValue } from './parameter-values.ts';
import type { ShellRun } from './shell-run.ts';
import { MAX_VALUES } from './shell-state.ts';
import { withoutLast } from './word-paths.ts';

/** The longest value that is followed, in characters; a longer value becomes TOO_MANY. */
const MAX_TEXT = 131_072;

/** One possible result of expanding a word: the fields (possibly zero) that bash passes to the command. */
export type Reading = readonly string[];

/** Every possible result of quoting, expansion and splitting of a word; at least one. */
export function evaluateWord(run: ShellRun, word: Word): readonly Reading[] {
  const { parts } = word;
  if (!parts) return [[expandTilde(run, word.text, word.value)]];
  if (parts.length === 1) {
    const [only] = parts;
    if (only?.type === 'SingleQuoted') return [[only.value]];
  }
  if (parts.some((part) => part.type === 'BraceExpansion')) {
    const readings = evaluateBraces(run, word);
    if (readings) return readings;
  }
  return evaluateFields(run, parts);
}

/** Every possible text of a word that bash does not split: assignments, redirection targets, `case`, here-strings. */
export function evaluateText(run: ShellRun, word: Word): readonly string[] {
  if (!word.parts) return [expandTilde(run, word.text, word.value)];
  return evaluateParts(run, word.parts, { quoted: true });
}

/** Like `evaluateText`, for a word that bash reads as a name or a number: `*`, `?` and `[` are plain characters. */
export function evaluatePlainText(run: ShellRun, word: Word): readonly string[] {
  return run.withPlainPatterns(true, () => evaluateText(run, word));
}

/**
 * Every possible text of the parts joined together, without splitting. `quoted: false` keeps patterns active.
 * `inDoubleQuotes`: the parts stand in double quotes, where `~` is not expanded.
 */
export function evaluateParts(
  run: ShellRun,
  parts: readonly (WordPart | DoubleQuotedChild)[],
  { quoted, inDoubleQuotes = false }: { quoted: boolean; inDoubleQuotes?: boolean },
): readonly string[] {
  let texts: readonly string[] = [''];
  for (const [index, part] of parts.entries()) {
    const values = joinedValues(run, part, index === 0 && !inDoubleQuotes, parts.length === 1);
    texts = combine(texts, quoted ? values : values.map(unquoted));
  }
  return texts;
}

function evaluateBraces(run: ShellRun, word: Word): readonly Reading[] | undefined {
  const texts = word.text.length > 4_096 ? undefined : expandBraces(word.text, MAX_VALUES * 4);
  if (!texts) return [[TOO_MANY]];
  if (texts.length === 1 && texts[0] === word.text) return undefined;
  let readings: readonly Reading[] = [[]];
  for (const text of texts) {
    if (!run.step() || !run.countText([text])) break;
    const command = parse(`: ${text}`).commands[0]?.command;
    const argument = command?.type === 'Command' ? command.args[0] : undefined;
    if (!argument) continue; // the empty item of `{,x}` gives no word
    let next: readonly Reading[] = [[argument.text]];
    if (argument.type === 'Word')
      next = argument.parts
        ? evaluateFields(run, argument.parts)
        : [[expandTilde(run, argument.text, argument.value)]];
    if (readings.length * next.length > MAX_VALUES) readings = [[TOO_MANY]];
    else readings = readings.flatMap((before) => next.map((after) => [...before, ...after]));
  }
  return readings;
}

/** A reading of a word whose last parts are still to come. */
interface PartialReading {
  readonly fields: readonly string[];
  /** The field being built; undefined until it has some text. */
  readonly current: string | undefined;
}

function evaluateFields(run: ShellRun, parts: readonly WordPart[]): readonly Reading[] {
  let partial: readonly PartialReading[] = [{ fields: [], current: undefined }];
  const separators = run.state.variables.get('IFS')?.values.join('') ?? ' \t\n';
  for (const [index, part] of parts.entries()) {
    if (!run.step()) break;
    const pieces = evaluatePart(run, part, index === 0, parts.length === 1);
    if (!pieces.every(({ fields }) => run.countText(fields))) break;
    partial = partial.flatMap((reading) =>
      pieces.map((piece) => append(reading, piece, separators, run.plainPatterns)),
    );
    if (partial.length > MAX_VALUES) return [[TOO_MANY]];
  }
  return partial.map(({ fields, current }) => (current === undefined ? fields : [...fields, current]));
}

/** One possible value of a part. Its first and last field are joined to the text around the part. */
interface Piece {
  readonly fields: readonly string[];
  /** Whether bash splits the text at IFS and drops it if it is empty. */
  readonly split: boolean;
}

function append(reading: PartialReading, piece: Piece, separators: string, plain: boolean): PartialReading {
  // copied only if a field is added: copying for each part of a long word would take quadratic time
  const fields = piece.split || piece.fields.length > 1 ? [...reading.fields] : reading.fields;
  let { current } = reading;
  const close = (): void => {
    if (current !== undefined) (fields as string[]).push(current);
    current = undefined;
  };
  for (const [index, field] of piece.fields.entries()) {
    if (index > 0) close();
    if (!piece.split) {
      current = joined(current ?? '', field);
      continue;
    }
    for (const [k, word] of splitAt(field, separators).entries()) {
      if (k > 0) close();
      if (word !== '') current = joined(current ?? '', plain ? word : unquoted(word));
    }
  }
  return { fields, current };
}

export function splitAt(text: string, separators: string): string[] {
  const words = [''];
  for (const c of text) {
    if (separators.includes(c)) words.push('');
    else words[words.length - 1] += c;
  }
  return words;
}

function evaluatePart(run: ShellRun, part: WordPart, first: boolean, alone: boolean): readonly Piece[] {
  switch (part.type) {
    case 'DoubleQuoted':
    case 'LocaleString':
      return quotedPieces(run, part.parts);
    case 'SimpleExpansion':
      return evaluateSimple(run, part.text.slice(1)).map(asUnquotedPiece);
    case 'ParameterExpansion':
      return evaluateParameter(run, part, { splits: true }).map(asUnquotedPiece);
    case 'CommandExpansion':
      return joinedValues(run, part, first, alone).map((text) => ({ fields: [text], split: true }));
    default:
      return joinedValues(run, part, first, alone).map((text) => ({ fields: [text], split: false }));
  }
}

const asUnquotedPiece = (value: ParameterValue): Piece => ({ fields: value.fields, split: !value.isSplit });

/** Text in double quotes is one field, except that `"$@"` and `"${a[@]}"` give a field for each element. */
function quotedPieces(run: ShellRun, parts: readonly DoubleQuotedChild[]): readonly Piece[] {
  let readings: readonly (readonly string[])[] = [['']];
  let onlyList = parts.length > 0;
  for (const part of parts) {
    const values = quotedValues(run, part);
    onlyList &&= values.every((value) => value.separate);
    readings = readings.flatMap((before) =>
      values.map((value) => {
        if (!value.separate) return [...before.slice(0, -1), (before.at(-1) ?? '') + joinFields(value)];
        const [head = '', ...tail] = value.fields;
        return [...before.slice(0, -1), (before.at(-1) ?? '') + head, ...tail];
      }),
    );
    if (readings.length > MAX_VALUES) return [{ fields: [TOO_MANY], split: false }];
  }
  // `"$@"` without arguments expands to no word
  return readings.map((fields) => ({
    fields: onlyList && fields.length === 1 && fields[0] === '' ? [] : fields,
    split: false,
  }));
}

function quotedValues(run: ShellRun, part: DoubleQuotedChild): readonly ParameterValue[] {
  if (part.type === 'SimpleExpansion') return evaluateSimple(run, part.text.slice(1));
  if (part.type === 'ParameterExpansion') return evaluateParameter(run, part, { splits: false });
  return joinedValues(run, part, false, false).map((text) => ({ fields: [text], separate: false }));
}

/** Every possible text of a part, not split into fields. */
function joinedValues(run: ShellRun, part: WordPart, first: boolean, alone: boolean): readonly string[] {
  switch (part.type) {
    case 'Literal':
      // bash does not expand `~$x`: after `~` a literal name must reach to a slash or to the end of the word
      return [
        first && (alone || part.text.includes('/')) ? expandTilde(run, part.text, part.value) : part.value,
      ];
    case 'SingleQuoted':
      return [part.value];
    case 'AnsiCQuoted':
      return [withoutForgedMarks(part.value)];
    case 'DoubleQuoted':
    case 'LocaleString':
      return evaluateParts(run, part.parts, { quoted: true, inDoubleQuotes: true });
    case 'SimpleExpansion':
      return evaluateSimple(run, part.text.slice(1)).map(joinFields);
    case 'ParameterExpansion':
      return evaluateParameter(run, part, { splits: false }).map(joinFields);
    case 'CommandExpansion': {
      const { script } = part;
      if (!script) return [''];
      if (!/[)`}]$/.test(part.text)) run.tooComplex('a substitution in it has no clear end');
      const printed = run.deeper([UNKNOWN], () => run.inSubshell(() => run.walker.script(run, script)));
      return printed.map((text) => withoutLast(text, '\n'));
    }
    case 'ArithmeticExpansion': {
      const value = evaluateArithmetic(run, part.expression);
      return [value === undefined ? NUMBER : String(value)];
    }
    case 'ProcessSubstitution':
      return [processPath(run, part)];
    case 'Glob':
      if (run.plainPatterns) return plainGlob(run, part);
      if (part.parts) evaluateParts(run, part.parts, { quoted: true });
      return [part.kind === 'star' ? STAR : ANY_CHARACTER];
    case 'ExtendedGlob':
      if (part.parts) evaluateParts(run, part.parts, { quoted: true });
      return [STAR];
    case 'BraceExpansion': // this function is only called where bash does not expand braces
      if (part.parts) return evaluateParts(run, part.parts, { quoted: true }).map((text) => `{${text}}`);
      return [part.text.replace(/\\(.)/gs, '$1')];
  }
}

function plainGlob(run: ShellRun, part: Extract<WordPart, { type: 'Glob' }>): readonly string[] {
  if (part.kind !== 'bracket' || !part.parts) return [part.text];
  return evaluateParts(run, part.parts, { quoted: true }).map((text) => `[${text}]`);
}

/** The path that `<(…)` or `>(…)` expands to. Remembers what can be read there, or what reads it. */
function processPath(run: ShellRun, part: Extract<WordPart, { type: 'ProcessSubstitution' }>): string {
  const path = `/dev/fd/${63 + run.state.fileCount + run.sinks.size}`;
  const { script } = part;
  if (!script) return path;
  run.concurrent++;
  const printed = run.deeper([UNKNOWN], () => run.inSubshell(() => run.walker.script(run, script)));
  run.concurrent--;
  // the command in `>(…)` runs even if nothing is written to it; it is walked again with each written text
  if (part.operator === '>') run.sinks.set(path, () => run.walker.script(run, script));
  else run.state.writeFile(path, printed.join('\n'));
  return path;
}

/** Expands `~` and `~name` at the start of a word, and `~` after `=` if the word looks like an assignment or option. */
function expandTilde(run: ShellRun, text: string, value: string): string {
  if (text.startsWith('~')) {
    const name = /^~([A-Za-z_][\w.-]*|[+-]?)(?=\/|$)/.exec(value)?.[1];
    if (name === undefined) return value;
    return tildePath(run, name) + value.slice(name.length + 1);
  }
  const assigned = /^([A-Za-z_]\w*=|--[\w-]+=)~(?=\/|$)/.exec(text);
  if (assigned) return `${assigned[1]}${run.home}${value.slice(assigned[0].length)}`;
  return value;
}

function tildePath(run: ShellRun, name: string): string {
  if (name === '') return run.state.variables.get('HOME')?.values[0] ?? run.home;
  if (name === '+') return run.state.directories[0] ?? UNKNOWN;
  if (name === '-') return run.state.previousDirectories[0] ?? UNKNOWN;
  return name === 'root' ? '/root' : `/home/${name}`;
}

export function combine(left: readonly string[], right: readonly string[]): readonly string[] {
  if (left.length === 1 && right.length === 1) return [joined(left[0] as string, right[0] as string)];
  if (left.length * right.length > MAX_VALUES) return [TOO_MANY];
  return left.flatMap((a) => right.map((b) => joined(a, b)));
}

/** Joins two texts. Text that keeps growing (`x=$x$x`) is not followed beyond MAX_TEXT. */
const joined = (a: string, b: string): string => (a.length + b.length > MAX_TEXT ? TOO_MANY : a + b);

/** Whether the word consists of VANISHING marks alone, so that bash may drop it. */
const mayVanish = (field: string): boolean => hasMark(field) && field.replaceAll(VANISHING, '') === '';

/** The most combinations of word values that are all judged; beyond this, `readingsOf` tries a selection. */
const MAX_READINGS = 32;

export interface CallArguments {
  /** Every possible list of the command's words, the plain ones first. */
  readonly readings: readonly Reading[];
  /** How many readings are plain; the others assume that a word is empty. */
  readonly plainCount: number;
}

/** Every possible list of words of a simple command, or a selection if there are too many (see `readingsOf`). */
export function callReadings(run: ShellRun, node: Command): CallArguments {
  const words: (readonly Reading[])[] = [];
  if (node.name) words.push(evaluateWord(run, node.name));
  const takesNames = isNameTaker(node);
  for (const argument of node.args) {
    if (argument.type === 'Word')
      words.push(run.withPlainPatterns(takesNames, () => evaluateWord(run, argument)));
    else if (argument.index && argument.value.type === 'Word') words.push(elementWords(run, argument));
    else if (argument.text.includes('{') && argument.value.type === 'Word')
      words.push(...bracedAssignments(run, argument));
    else if (argument.value.type === 'Word') {
      words.push(evaluateText(run, argument.value).map((text) => [`${argument.name}=${text}`]));
    } else {
      for (const element of argument.value.elements) evaluateWord(run, element);
      run.compounds.add(argument.text);
      words.push([[argument.text]]);
    }
  }
  const readings = readingsOf(words);
  return { readings: [...readings, ...readings.flatMap(shorterReadings)], plainCount: readings.length };
}

/** Builtins whose words are names or numbers, so `y[i]` is not a file pattern. */
const NAME_TAKERS =
  /^(unset|read|mapfile|readarray|test|\[|let|declare|typeset|local|export|readonly|integer|float|getopts|wait)$/;

function isNameTaker({ name, args }: Command): boolean {
  const words = [name, ...args].map((word) => (word?.type === 'Word' ? word.value : ''));
  const [called = '', first] = words.slice(words.findIndex((word) => !/^(command|builtin|--)$/.test(word)));
  return NAME_TAKERS.test(called) || (called === 'printf' && (first?.startsWith('-v') ?? false));
}

/** The words of `declare a[i]=x`. */
function elementWords(run: ShellRun, { name, index, value }: Assignment): readonly Reading[] {
  const keys = index ? evaluatePlainText(run, index) : [''];
  const texts = value.type === 'Word' ? evaluateText(run, value) : [''];
  return combine(
    keys.map((key) => `${name}[${key}]=`),
    texts,
  ).map((text) => [text]);
}

/** `declare x={a,b}` means `declare x=a x=b`: as an argument, unlike as an assignment, it has its braces expanded. */
function bracedAssignments(run: ShellRun, argument: Assignment): (readonly Reading[])[] {
  const texts = argument.text.length > 4_096 ? undefined : expandBraces(argument.text, 64);
  if (!texts) return [[[TOO_MANY]]];
  return texts.flatMap((text) => {
    const command = run.countText([text]) ? parse(`export ${text}`).commands[0]?.command : undefined;
    const assigned = command?.type === 'Command' ? command.args[0] : undefined;
    if (assigned?.type !== 'Assignment' || assigned.value.type !== 'Word') return [];
    return [evaluateText(run, assigned.value).map((value) => [`${assigned.name}=${value}`])];
  });
}

/**
 * Combines the readings of the words. If there are more than MAX_READINGS combinations, returns a selection that
 * contains each value of each word at least once: the readings of all words in step, and for each program name one
 * reading with all values of all other words.
 */
function readingsOf(words: readonly (readonly Reading[])[]): readonly Reading[] {
  const combinations = words.reduce((product, readings) => Math.min(product * readings.length, 1_000), 1);
  if (combinations === 1) return [words.flatMap((readings) => readings[0] ?? [])];
  if (combinations <= MAX_READINGS) {
    return words.reduce<readonly Reading[]>(
      (all, readings) => all.flatMap((before) => readings.map((reading) => [...before, ...reading])),
      [[]],
    );
  }
  const longest = Math.max(...words.map((readings) => readings.length));
  const parallel = [...Array(longest).keys()].map((i) =>
    words.flatMap((readings) => readings[i % readings.length] ?? []),
  );
  const rest = words.slice(1).flatMap((readings) => readings.flat());
  const flat = (words[0] ?? []).map((first) => [...first, ...rest]);
  return [...parallel, ...flat];
}

/** The same words without those that bash drops if a variable is unset or an output is empty. */
function shorterReadings(reading: Reading): readonly Reading[] {
  const shorter: Reading[] = [];
  if (reading.some((word) => word.includes(UNSET) || word.includes(UNSET_QUOTED))) {
    shorter.push(reading.flatMap((word) => (isBelowUnset(word) ? word : (whenUnset(word) ?? []))));
  }
  const [first, ...rest] = reading;
  if (first !== undefined && rest.length > 0 && mayVanish(first)) shorter.push(rest);
  return shorter;
}

/**
 * True for a path below an unset variable, such as `"$PREFIX/bin"`: the environment probably sets the variable, so the
 * word is not judged as `/bin`. False for `"$X"/` and `"$X"/*`, which are judged as the root with an empty variable.
 */
const isBelowUnset = (word: string): boolean => /^[\uFDD2\uFDD3]\/+[^/.\uFDD7]/.test(word);
