import { STAR, UNKNOWN, unquoted } from '../program/marks.ts';
import type { ProgramCall } from './program-call.ts';
import { contentOf } from './redirections.ts';
import type { ShellRun } from './shell-run.ts';
import { normalize, type Protection, protectionOf, resolvePlaces } from './word-paths.ts';

/** Tests of `find` that narrow nothing down. */
const NARROWS_NOTHING =
  /^-(depth|d|prune|mindepth|maxdepth|mount|xdev|type|print|print0|follow|ignore_readdir_race|noleaf|warn|nowarn|o|or|a|and|not|true|P|L|H|O\d|regextype|user|readable|writable)$/;
const TAKES_VALUE = /^-(mindepth|maxdepth|type|regextype|user)$/;
const EXECUTES = /^-(exec|execdir|ok|okdir)$/;

/** A call of `find` or `fd`, as far as it decides what is found and what happens to it. */
interface FindCall {
  readonly starts: readonly string[];
  /** Whether it takes everything below its starting points. */
  readonly takesAll: boolean;
  /** Whether it leaves some names out (`! -name x`), and so perhaps its starting point itself. */
  readonly excludes: boolean;
  /** Names that it looks for, patterns active. Empty when it does not look by name. */
  readonly names: readonly string[];
  readonly deletes: boolean;
  /** Program calls of `-exec` and its kin, with `{}` still in them. */
  readonly calls: readonly (readonly string[])[];
  /** Files it writes (`-fprint`). */
  readonly writes: readonly string[];
  /** Whether it prints what it finds, and nothing else. */
  readonly prints: boolean;
}

export function readFind(run: ShellRun, args: readonly string[]): FindCall {
  const starts: string[] = [];
  let i = 0;
  while (i < args.length && /^-([PLH]|O\d|D)$/.test(args[i] as string)) i++;
  for (; i < args.length && !/^[-(!]/.test(args[i] as string); i++) starts.push(args[i] as string);
  let takesAll = true;
  let excludes = false;
  let deletes = false;
  let prints = true;
  const calls: string[][] = [];
  const writes: string[] = [];
  const names: string[] = [];
  for (; i < args.length; i++) {
    const word = args[i] as string;
    if (word === '-delete') deletes = true;
    else if (EXECUTES.test(word)) {
      const call: string[] = [];
      for (i++; i < args.length && args[i] !== ';' && !(args[i] === '+' && args[i - 1] === '{}'); i++)
        call.push(args[i] as string);
      calls.push(call);
    } else if (/^-f(print|print0|ls|printf)$/.test(word)) writes.push(args[++i] ?? '');
    else if (/^-(i?name|i?path|i?wholename)$/.test(word)) {
      const isExcluded = /^(!|-not)$/.test(args[i - 1] ?? '') || args[i + 2] === '-prune';
      const name = args[++i] ?? '';
      if (/^[*/.]*$/.test(name)) continue;
      if (isExcluded) {
        excludes = true;
        continue;
      }
      takesAll = false;
      names.push(unquoted(name.slice(name.lastIndexOf('/') + 1)));
    } else if (word === '-files0-from') starts.push(...namesIn(contentOf(run, args[++i] ?? '')));
    else if (NARROWS_NOTHING.test(word)) {
      if (TAKES_VALUE.test(word)) i++;
    } else if (word.startsWith('-')) {
      takesAll = false;
      if (word === '-printf' || word === '-ls') prints = false;
    }
  }
  prints &&= !deletes && calls.length === 0 && writes.length === 0;
  if (starts.length === 0) starts.push('.');
  return { starts, takesAll, excludes, names, deletes, calls, writes, prints };
}

const namesIn = (content: string): readonly string[] => content.split('\u0000').filter((name) => name !== '');

/** `fd pattern paths… -x program`: the pattern is a regular expression, everything after `-x` is the program. */
export function readFd(args: readonly string[]): FindCall {
  const operands: string[] = [];
  const calls: string[][] = [];
  let narrows = false;
  for (let i = 0; i < args.length; i++) {
    const word = args[i] as string;
    if (/^(-[xX]|--exec(-batch)?)$/.test(word)) {
      const end = args.indexOf(';', i + 1);
      const call = args.slice(i + 1, end < 0 ? undefined : end);
      if (call.length > 0)
        calls.push(call.some((part) => /\{(\/{0,2}|\.|\/\.)\}/.test(part)) ? call : [...call, '{}']);
      i = end < 0 ? args.length : end;
    } else if (
      /^(-[edEtSocjC]|--(extension|max-depth|exclude|type|size|owner|color|threads|changed-\w+))$/.test(word)
    ) {
      if (/^(-[eE]|--ext\w*)$/.test(word)) narrows = true;
      i++;
    } else if (!word.startsWith('-')) operands.push(word);
  }
  const [pattern = '', ...starts] = operands;
  const takesAll = !narrows && /^[\^$.*]*$/.test(pattern);
  const name = pattern.replace(/^\^|\$$|\\/g, '');
  return {
    starts: starts.length > 0 ? starts : ['.'],
    takesAll,
    excludes: false,
    names: takesAll || pattern === '' ? [] : [name],
    deletes: false,
    calls,
    writes: [],
    prints: calls.length === 0,
  };
}

/** What stands for `{}`: the starting point itself when everything is taken, else something below it. */
export function foundNames(find: FindCall): readonly string[] {
  return find.starts.flatMap((start) => {
    if (find.takesAll) return [find.excludes ? `${start}/${STAR}` : start];
    if (find.names.length === 0) return [`${start}/${UNKNOWN}`];
    return find.names.slice(0, 8).flatMap((name) => [`${start}/${name}`, `${start}/${UNKNOWN}/${name}`]);
  });
}

/** What it prints: each name on a line, or ended by NUL. */
export function foundText(find: FindCall, args: readonly string[]): string {
  if (!find.prints) return UNKNOWN;
  const names = foundNames(find);
  const found = find.takesAll ? names.flatMap((start) => [start, `${start}/${STAR}`]) : names;
  const separator = args.includes('-print0') || args.includes('-0') ? '\u0000' : '\n';
  return found.map((name) => name + separator).join('');
}

/** `find / -delete`: the starting point whose protection counts. (`-exec` is judged as a call of its own.) */
export function findsEverything(
  { run, args, name }: ProgramCall,
  counts: (kind: Protection | undefined) => boolean,
): string | undefined {
  const find = /^fd/.test(name) ? readFd(args) : readFind(run, args);
  if (!find.takesAll) return undefined;
  const removes =
    find.deletes || find.calls.some(([program = '']) => /(^|\/)(rm|shred|unlink|srm)$/.test(program));
  if (!removes) return undefined;
  return foundNames(find).find((start) =>
    resolvePlaces(run, start).some((place) => counts(protectionOf(run, normalize(place)))),
  );
}
