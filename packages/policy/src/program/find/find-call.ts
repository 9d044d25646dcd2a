import { wordList } from '../../text.ts';
import type { FileUse } from '../file-operands.ts';
import { STAR, UNKNOWN, unquoted } from '../marks.ts';
import type { InnerCall } from '../read-program.ts';

/** Terms of `find` that do not narrow the search. */
const NARROWS_NOTHING =
  /^-(depth|d|prune|mindepth|maxdepth|mount|xdev|type|print|print0|follow|ignore_readdir_race|noleaf|warn|nowarn|o|or|a|and|not|true|P|L|H|O\d|regextype|user|readable|writable)$/;

interface FindCall {
  readonly starts: readonly string[];
  /** Whether it takes everything below its starting points. */
  readonly takesAll: boolean;
  /** Whether it excludes some names (`! -name x`), perhaps its starting point too. */
  readonly excludes: boolean;
  /** Names that it looks for, with their patterns as marks. Empty if it does not look by name. */
  readonly names: readonly string[];
  readonly deletes: boolean;
  /** Program calls of `-exec` and the like, with `{}` still in them. */
  readonly calls: readonly (readonly string[])[];
  /** Files it writes (`-fprint`). */
  readonly writes: readonly string[];
  /** Whether it prints what it finds, and nothing else. */
  readonly prints: boolean;
}

/** `contentOf` returns the known content of a file, for `-files0-from`. */
function readFind(args: readonly string[], contentOf: (file: string) => string): FindCall {
  const { starts, terms } = readFindWords(args);
  const listed = terms.flatMap(({ kind, value = '' }) =>
    kind === 'list' ? contentOf(value).split('\u0000').filter(Boolean) : [],
  );
  const all = (kind: FindTerm['kind']): readonly FindTerm[] => terms.filter((term) => term.kind === kind);
  const names: string[] = [];
  let takesAll = true;
  let excludes = false;
  for (const [at, { kind, word, value = '' }] of terms.entries()) {
    if (kind === 'name' && !/^-i?lname$/.test(word)) {
      if (/^[*/.]*$/.test(value)) continue;
      // If a name may be excluded, treat it as excluded: then everything else counts as found, which is the worse case
      // for a removal. find.ts needs the opposite: only names that are surely excluded count, because it leaves those
      // files out.
      if (/^(!|-not)$/.test(terms[at - 1]?.word ?? '') || terms[at + 1]?.word === '-prune') excludes = true;
      else {
        takesAll = false;
        names.push(unquoted(value.slice(value.lastIndexOf('/') + 1)));
      }
    } else if (!/^(executes|writes|deletes|list)$/.test(kind) && word.startsWith('-'))
      takesAll &&= NARROWS_NOTHING.test(word);
  }
  const deletes = all('deletes').length > 0;
  const calls = all('executes').map(({ call }) => call);
  const writes = all('writes').map(({ value = '' }) => value);
  const prints =
    !deletes && calls.length + writes.length === 0 && !terms.some(({ word }) => /^-(printf|ls)$/.test(word));
  // For find, `-` is a file; other programs would read it as standard input.
  const from = [...starts, ...listed].map((start) => (start === '-' ? './-' : start));
  return {
    starts: from.length > 0 ? from : ['.'],
    takesAll,
    excludes,
    names,
    deletes,
    calls,
    writes,
    prints,
  };
}

/** `fd pattern paths… -x program`: the pattern is a regular expression, everything after `-x` is the program. */
function readFd(args: readonly string[]): FindCall {
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

/** The paths that `{}` stands for: the starting point if everything is taken, else something below it. */
export function foundNames(find: FindCall): readonly string[] {
  return find.starts.flatMap((start) => {
    if (find.takesAll) return [find.excludes ? `${start}/${STAR}` : start];
    if (find.names.length === 0) return [`${start}/${UNKNOWN}`];
    return find.names.slice(0, 8).flatMap((name) => [`${start}/${name}`, `${start}/${UNKNOWN}/${name}`]);
  });
}

/** The output of the call: each name on a line, or ended by NUL. */
export function foundText(find: FindCall, args: readonly string[]): string {
  if (!find.prints) return UNKNOWN;
  const names = foundNames(find);
  const found = find.takesAll ? names.flatMap((start) => [start, `${start}/${STAR}`]) : names;
  const separator = args.includes('-print0') || args.includes('-0') ? '\u0000' : '\n';
  return found.map((name) => name + separator).join('');
}

export const readFound = (
  name: string,
  args: readonly string[],
  contentOf: (file: string) => string,
): FindCall => (name.startsWith('fd') ? readFd(args) : readFind(args, contentOf));

export function filesOfFind(find: FindCall): readonly FileUse[] {
  const use = (paths: readonly string[], how: FileUse['use']): FileUse[] =>
    paths.map((path) => ({ path, use: how }));
  return [
    ...use(find.starts, find.deletes ? 'write' : 'read'),
    ...(find.deletes ? use(foundNames(find), 'read') : []),
    ...use(find.writes, 'write'),
  ];
}

export const innerCallsOfFind = (find: FindCall): readonly InnerCall[] =>
  find.calls.flatMap((call) =>
    foundNames(find).map((found): InnerCall => {
      const words = call.map((word) => word.replaceAll('{}', found));
      return { words, certainty: 'possible' };
    }),
  );

/** One test, action or operator of the expression. */
export interface FindTerm {
  readonly kind: TermKind;
  readonly word: string;
  /** The word after it, where it takes one. */
  readonly value: string | undefined;
  /** The program call of `-exec` and the like, with `{}` still in it. */
  readonly call: readonly string[];
}

/** The parsed words of `find`, which has no getopt grammar. */
interface FindWords {
  /** Options before the starting points: `-L`, `-O3`. */
  readonly options: readonly string[];
  readonly starts: readonly string[];
  readonly terms: readonly FindTerm[];
}

/** The words of find's expression by kind; the kind says how many words follow. */
const kinds = {
  plain: `-daystart -depth -d -ignore_readdir_race -noignore_readdir_race -mount -xdev -noleaf -warn -nowarn -empty -executable
    -false -true -nogroup -nouser -readable -writable -print -print0 -ls -prune -quit -a -and -o -or -not -help --help
    -version --version ( ) ! ,`,
  text: `-amin -atime -cmin -ctime -fstype -gid -group -inum -links -maxdepth -mindepth -mmin -mtime -perm -regextype -size
    -type -uid -used -user -xtype -context -printf`,
  name: '-name -iname -path -ipath -wholename -iwholename -lname -ilname',
  regex: '-regex -iregex',
  reference: '-newer -anewer -cnewer -samefile',
  list: '-files0-from',
  links: '-follow -L',
  executes: '-exec -execdir -ok -okdir',
  writes: '-fprint -fprint0 -fprintf -fls',
  deletes: '-delete',
};

type TermKind = keyof typeof kinds | 'unknown' | 'stray';

const kindByWord = new Map<string, TermKind>();
for (const kind of Object.keys(kinds) as (keyof typeof kinds)[])
  for (const word of wordList(kinds[kind])) kindByWord.set(word, kind);

function kindOf(word: string): TermKind {
  const known = kindByWord.get(word);
  if (known) return known;
  // Other versions of find may accept two dashes for an action. A test with two dashes is unknown.
  const action = kindByWord.get(word.replace(/^--/, '-'));
  if (action === 'executes' || action === 'writes' || action === 'deletes') return action;
  if (/^-newer[aBcm][aBcm]$/.test(word)) return 'reference';
  if (/^-newer[aBcm]t$/.test(word)) return 'text';
  return startsExpression(word) ? 'unknown' : 'stray';
}

const takesNothing: ReadonlySet<TermKind> = new Set(['plain', 'links', 'deletes', 'unknown', 'stray']);

const startsExpression = (word: string): boolean =>
  (word.startsWith('-') && word !== '-') || /^[(!),]$/.test(word);

/** Leading options, then starting points, then the expression. */
export function readFindWords(args: readonly string[]): FindWords {
  const options: string[] = [];
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] as string;
    if (word === '--') {
      at++;
      break;
    }
    if (word === '-D') at++;
    else if (/^-([HPL]|O\d*)$/.test(word)) options.push(word);
    else break;
  }
  const first = at;
  while (at < args.length && !startsExpression(args[at] as string)) at++;
  const starts = args.slice(first, at);
  const terms: FindTerm[] = [];
  for (; at < args.length; at++) {
    const word = args[at] as string;
    const kind = kindOf(word);
    if (kind === 'executes') {
      const call: string[] = [];
      for (at++; at < args.length && args[at] !== ';' && !(args[at] === '+' && args[at - 1] === '{}'); at++)
        call.push(args[at] as string);
      terms.push({ kind, word, value: undefined, call });
      continue;
    }
    terms.push({ kind, word, value: takesNothing.has(kind) ? undefined : args[++at], call: [] });
    if (word === '-fprintf') at++;
  }
  return { options, starts, terms };
}
