import { wordList } from '../../text.ts';
import type { GitCall } from './git-call.ts';

/**
 * Which calls of git only read the repository, so that they are LOW in a shell line. Checked after the option tables: a
 * call that is not listed here needs a person. Words are read strictly, without abbreviations.
 */

interface Read {
  /** Words that make the call more than a read, or show what attributes and masks hide. */
  readonly not?: RegExp;
  /** How many operands it may have; any number if left out. */
  readonly mostOperands?: number;
  /** With one of these words it lists, so operands are patterns or commits. */
  readonly lists?: RegExp;
  /** Operands must not be ids of objects: an id may be that of a sensitive file's content. */
  readonly noIds?: true;
  readonly entersSubmodules?: true;
}

/** `-a` shows binary files, which is how sensitive ones are hidden; `-S` and `-G` tell what is in them. */
const SHOWS_HIDDEN =
  /^(-[a-zA-Z]*[aSGO]|--text|--binary|--pickaxe|--no-index|--stdin|--find-object|--show-signature|--submodule|--recurse-submodules|--ignore-submodules|--remerge-diff|-.*%G)|%G/;

const shows: Read = { not: SHOWS_HIDDEN, noIds: true };

const reads: Readonly<Record<string, Read>> = {
  status: { entersSubmodules: true, not: /^--ignore-submodules/ },
  log: { not: SHOWS_HIDDEN },
  shortlog: { not: SHOWS_HIDDEN },
  'rev-list': { not: /^(--stdin|--objects|--filter|--disk-usage|--use-bitmap)/ },
  whatchanged: { not: SHOWS_HIDDEN },
  reflog: { not: /^(expire|delete|drop)$|^(-[a-zA-Z]*[aSGO]|--text|--binary|--pickaxe)|%G/ },
  diff: { ...shows, entersSubmodules: true },
  show: shows,
  'diff-tree': shows,
  blame: { not: /^(--contents|-S|--ignore-revs-file)/ },
  annotate: { not: /^(--contents|-S|--ignore-revs-file)/ },
  describe: { not: /^--(dirty|broken)/ },
  'ls-files': { not: /^--(recurse-submodules|debug|format)/ },
  'ls-tree': {},
  'rev-parse': { not: /^--(parseopt|sq-quote)/ },
  branch: {
    not: /^(-[a-z]*[dDmMcCuft]|--(delete|move|copy|set-upstream|unset-upstream|edit-description|force|track|create-reflog))/,
    mostOperands: 0,
    lists: /^(-l|--list|--contains|--no-contains|--merged|--no-merged|--points-at)(=|$)/,
  },
  tag: {
    not: /^(-[a-z]*[dfasmFvu](?!\d)|--(delete|force|annotate|sign|message|file|verify|local-user|edit|create-reflog))/,
    mostOperands: 0,
    lists: /^(-[ln]\d*|--list|--contains|--no-contains|--merged|--no-merged|--points-at)(=|$)/,
  },
  grep: {
    not: /^(-[a-zA-Z]*[afO](?!$)|-[afO]$|--(text|no-index|open|recurse-submodules|cached|textconv|ext-grep))/,
  },
  'merge-base': {},
  'show-ref': { not: /^--exclude-existing/ },
  'for-each-ref': { not: /^--(stdin|shell|perl|python|tcl)/ },
  'name-rev': { not: /^--(stdin|annotate-stdin)/ },
  cherry: {},
  'count-objects': {},
  'check-ignore': { not: /^--stdin/ },
  'check-attr': { not: /^--stdin/ },
  'cat-file': { not: /^(--batch|--filters|--textconv|--path|--filter|--buffer|--follow)/, noIds: true },
  version: {},
};

/** Members of families that only read: `git stash list`. */
const memberReads = new Set(
  ['stash list', 'worktree list', 'remote show -n', 'reflog show', 'reflog list'].flatMap((each) => [each]),
);

/** Global options that change nothing but the output. */
const GLOBAL = new Set(
  wordList(
    '-C -P --no-pager --no-optional-locks --no-lazy-fetch --no-replace-objects --no-advice --literal-pathspecs',
  ),
);

/** An object by its id, alone or as an end of a range. `abc1234~2` and `abc1234^` can only be commits. */
const ID = /^\^?[0-9a-f]{4,64}(\^\{(?!commit).*)?$/i;
/** A file pattern may match a file that is named like an id. */
const MATCHES_IDS = /^([0-9a-f*?]|\[[^\]]*\])+$/i;
const isId = (word: string): boolean =>
  (/[*?[]/.test(word) && MATCHES_IDS.test(word)) || word.split(/\.{2,3}/).some((end) => ID.test(end));

export function harmlessRead({
  options,
  subcommand,
  args,
}: GitCall): { entersSubmodules: boolean } | undefined {
  const isInformation =
    options.length > 0 &&
    options.every(({ spelled }) => /^(-v|--version)$/.test(spelled)) &&
    subcommand === undefined;
  if (isInformation) return { entersSubmodules: false };
  const isPlain = options.every((word) => word.kind === 'option' && GLOBAL.has(word.spelled));
  if (!isPlain || subcommand === undefined || args.includes('--help')) return undefined;
  if (memberReads.has(`${subcommand} ${args[0] ?? ''}`)) {
    const rest = args.slice(1);
    return rest.some((word) => SHOWS_HIDDEN.test(word)) ? undefined : { entersSubmodules: false };
  }
  if (subcommand === 'remote') return readsRemotes(args) ? { entersSubmodules: false } : undefined;
  if (subcommand === 'config') return readsKnownSetting(args) ? { entersSubmodules: false } : undefined;
  const read = Object.hasOwn(reads, subcommand) ? reads[subcommand] : undefined;
  if (!read) return undefined;
  const dashes = args.indexOf('--');
  const allBefore = dashes < 0 ? args : args.slice(0, dashes);
  const beforeDashes = read.mostOperands === undefined ? allBefore : withoutValues(allBefore);
  if (beforeDashes.some((word) => word.startsWith('-') && read.not?.test(word))) return undefined;
  if (beforeDashes.some((word) => /^-.*%G/.test(word))) return undefined;
  // A file pattern may become the name of one of these.
  if (subcommand === 'reflog' && beforeDashes.some((word) => /^(expire|delete|drop)$|[*?[]/.test(word)))
    return undefined;
  const operands = beforeDashes.filter((word) => !word.startsWith('-'));
  if (read.noIds && operands.some(isId)) return undefined;
  const isListing =
    beforeDashes.some((word) => read.lists?.test(word)) && !beforeDashes.some((word) => UNDOES.test(word));
  const afterDashes = dashes < 0 ? 0 : args.length - dashes - 1;
  if (read.mostOperands !== undefined && operands.length + afterDashes > read.mostOperands && !isListing)
    return undefined;
  return { entersSubmodules: read.entersSubmodules ?? false };
}

/** `git branch --list --no-list p` makes a branch. */
const UNDOES = /^--no-(?!(contains|merged|color|column|abbrev)(=|$))/;

/** The words of `git branch` or `git tag` without values that are words of their own: `--sort -committerdate`. */
function withoutValues(words: readonly string[]): readonly string[] {
  const rest: string[] = [];
  for (let at = 0; at < words.length; at++) {
    rest.push(words[at] as string);
    if (/^--(sort|format)$/.test(words[at] as string)) at++;
  }
  return rest;
}

/** `git remote`, `git remote -v`, `git remote get-url NAME`. */
function readsRemotes(args: readonly string[]): boolean {
  if (args[0] === 'get-url') return args.slice(1).every((word) => /^(--push|--all|[\w./-]+)$/.test(word));
  return args.every((word) => word === '-v' || word === '--verbose');
}

/** Only addresses of remotes: the runner shows git no other setting. */
function readsKnownSetting(args: readonly string[]): boolean {
  const [first = '', ...rest] = args[0] === '--get' || args[0] === 'get' ? args.slice(1) : args;
  return rest.length === 0 && /^remote\.[\w./-]+\.url$/.test(first);
}
