import { wordList } from '../../word-list.ts';

/** One test, action or operator of the expression. */
export interface FindTerm {
  readonly kind: TermKind;
  readonly word: string;
  /** The word after it, where it takes one. */
  readonly value: string | undefined;
  /** The program call of `-exec` and its kin, with `{}` still in it. */
  readonly call: readonly string[];
}

/** The words of `find`: it has no getopt grammar. */
interface FindWords {
  /** Options before the starting points: `-L`, `-O3`. */
  readonly options: readonly string[];
  readonly starts: readonly string[];
  readonly terms: readonly FindTerm[];
}

/** What the words of find's expression are, and so how many words belong to each. */
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
  // Some other find may take two dashes for an action; a test so spelled is unknown.
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
