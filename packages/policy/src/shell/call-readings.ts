import { type Assignment, type Command, parse } from 'unbash';
import { TOO_MANY, UNSET, UNSET_QUOTED, whenUnset } from '../program/marks.ts';
import { expandBraces } from './brace-expansion.ts';
import type { ShellRun } from './shell-run.ts';
import {
  combine,
  evaluatePlainText,
  evaluateText,
  evaluateWord,
  mayVanish,
  type Reading,
} from './word-values.ts';

/** How many readings of one command are judged one by one. */
const MAX_READINGS = 32;

export interface CallArguments {
  /** Every way the command's words may come out, the plainest first. */
  readonly readings: readonly Reading[];
  /** How many of these are plain; the rest assume that a word comes out empty. */
  readonly plain: number;
}

/**
 * The words of a simple command. Where several words have several values, not every combination is tried: each
 * value appears at least once beside constants, and once in a reading that holds all values one after another.
 */
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
  return { readings: [...readings, ...readings.flatMap(shorterReadings)], plain: readings.length };
}

/** Builtins whose words are names or numbers, so that `y[i]` is no pattern unless a file has such a name. */
const NAME_TAKERS =
  /^(unset|read|mapfile|readarray|test|\[|let|declare|typeset|local|export|readonly|integer|float|getopts|wait)$/;

function isNameTaker({ name, args }: Command): boolean {
  const words = [name, ...args].map((word) => (word?.type === 'Word' ? word.value : ''));
  const [called = '', first] = words.slice(words.findIndex((word) => !/^(command|builtin|--)$/.test(word)));
  return NAME_TAKERS.test(called) || (called === 'printf' && (first?.startsWith('-v') ?? false));
}

/** `declare a[i]=x` */
function elementWords(run: ShellRun, { name, index, value }: Assignment): readonly Reading[] {
  const keys = index ? evaluatePlainText(run, index) : [''];
  const texts = value.type === 'Word' ? evaluateText(run, value) : [''];
  return combine(
    keys.map((key) => `${name}[${key}]=`),
    texts,
  ).map((text) => [text]);
}

/** `declare x={a,b}` is `declare x=a x=b`: unlike in a plain assignment, braces are expanded first. */
function bracedAssignments(run: ShellRun, argument: Assignment): (readonly Reading[])[] {
  const texts = argument.text.length > 4_096 ? undefined : expandBraces(argument.text, 64);
  if (!texts) return [[[TOO_MANY]]];
  return texts.flatMap((text) => {
    const command = run.mayParse(text) ? parse(`export ${text}`).commands[0]?.command : undefined;
    const assigned = command?.type === 'Command' ? command.args[0] : undefined;
    if (assigned?.type !== 'Assignment' || assigned.value.type !== 'Word') return [];
    return [evaluateText(run, assigned.value).map((value) => [`${assigned.name}=${value}`])];
  });
}

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

/** What is left when variables that are not set, or output that is empty, leave no word. */
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
 * `"$PREFIX/bin"`: the person's environment probably has this variable. An empty value is only assumed where it would
 * leave the root itself (`"$X"/`, `"$X"/*`).
 */
const isBelowUnset = (word: string): boolean => /^[\uFDD2\uFDD3]\/+[^/.\uFDD7]/.test(word);
