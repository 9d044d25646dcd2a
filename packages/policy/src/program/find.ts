import { picksSecretsByName, picksSecretsByRegex } from '../command/sensitive-glob.ts';
import { type FindTerm, readFindWords } from './find/find-call.ts';
import type { Manual, Notes } from './notes.ts';
import { type CommandRule, onlyReads } from './rules.ts';

const runsPrograms: CommandRule = {
  id: 'CMD-FIND-1',
  risk: 'REJECT',
  why: 'starts another program for what it finds',
  matches: [
    'find . -exec rm {} ;',
    "find . -name '*.py' -execdir python3 {} ;",
    'find . -type d -o -ok ls ;',
    'find -okdir ls ;',
  ],
  doesNotMatch: ["find . -name '-exec'", 'find . -executable', 'find . -path -exec -prune'],
};

const writes: CommandRule = {
  id: 'CMD-FIND-2',
  risk: 'REJECT',
  why: 'deletes or writes files',
  matches: [
    'find . -delete',
    'find src -fprint files.txt',
    'find . -fls x',
    'find . -fprintf x %p',
    'find . -fprint0 x',
  ],
  doesNotMatch: ["find . -printf '%p\\n'", 'find . -ls', "find . -name '*-delete*'", 'find . -print0'],
};

const followsLinks: CommandRule = {
  id: 'CMD-FIND-3',
  risk: 'MEDIUM',
  why: 'follows every link it meets, also out of the workspace',
  needsPerson: true,
  matches: ['find -L src -type f', 'find . -follow -name x', 'find -P -L .'],
  doesNotMatch: ['find -H src', 'find -P .', "find . -name '-L'"],
};

const pathsFromFile: CommandRule = {
  id: 'CMD-FIND-4',
  risk: 'MEDIUM',
  why: 'takes the places to search from a file',
  needsPerson: true,
  matches: ['find -files0-from docs/notes.txt', 'find -files0-from - -name x'],
  doesNotMatch: ['find docs -newer README.md'],
};

const looksForSecrets: CommandRule = {
  id: 'CMD-FIND-5',
  risk: 'MEDIUM',
  why: 'looks for sensitive files by name',
  matches: [
    "find . -name '.env*'",
    'find . -iname .ENV',
    "find . -path '*/.ssh/*'",
    'find . -name id_rsa',
    "find . -regex '.*/\\.env'",
    "find . -iregex '.*/id_.sa'",
    "find . -regex '.*\\.\\(txt\\|key\\)'",
    "find . -regextype posix-extended -regex '.*/(\\.npmrc|x)'",
    "find . -lname '*.env'",
    "find . -ilname '.ssh/*'",
    "find . -name '*npmrc*'",
    'find . ! ! -name .env',
    'find . -name .env -prune',
    'find . -name .env -prune -o -name x',
    'find . -name .env -prune -print -o -print',
    'find . ! -name .env -o -print',
    "find . ! ( ! -name '*.pem' )",
  ],
  doesNotMatch: [
    "find . -name '*.json'",
    "find . -name '*env*' -type d",
    "find . -name '*'",
    'find . -type f -not -name .env',
    'find . ! -name .env -print',
    "find . -name '*.key' -prune -o -print",
    'find . ( -name .git -o -name .env ) -prune -o -type f -print',
    "find . -not ( -name .env -o -name '*.pem' )",
    "find . -name '*key*'",
    "find . -iname '*token*'",
    "find . -regex '.*\\.\\(js\\|ts\\)'",
    "find . -regex '.*'",
    "find . -lname '*.md'",
  ],
};

export const find: Manual = {
  names: ['find'],
  onlyReads: true,
  ignoresDashes: true,
  rules: [runsPrograms, writes, followsLinks, pathsFromFile, looksForSecrets],
  read(args, notes) {
    notes.raise(onlyReads);
    const { options, starts, terms } = readFindWords(args);
    if (options.includes('-L')) notes.raise(followsLinks, '-L');
    for (const start of starts) notes.path(start, 'read');
    if (starts.length === 0 && !terms.some(({ kind }) => kind === 'list')) notes.path('.', 'read');
    noteExpression(terms, notes);
  },
};

function noteExpression(terms: readonly FindTerm[], notes: Notes): void {
  const excluding = excludingTerms(terms);
  for (const term of terms) {
    const { kind, word, value } = term;
    switch (kind) {
      case 'name':
      case 'regex': {
        const picksSecrets = kind === 'regex' ? picksSecretsByRegex : picksSecretsByName;
        if (value !== undefined && !excluding.has(term) && picksSecrets(value))
          notes.raise(looksForSecrets, value);
        break;
      }
      case 'reference':
        if (value !== undefined) notes.path(value, 'read');
        break;
      case 'list':
        notes.raise(pathsFromFile, word);
        if (value !== undefined) notes.pathOrStream(value, 'read');
        break;
      case 'links':
        notes.raise(followsLinks, word);
        break;
      case 'executes':
        notes.raise(runsPrograms, word);
        return;
      case 'writes':
        // Note the path first: if it is outside, that refusal tells the person more.
        if (value !== undefined) notes.path(value, 'write');
        notes.raise(writes, word);
        return;
      case 'deletes':
        notes.raise(writes, word);
        return;
      case 'unknown':
        notes.unknownOption(word);
        notes.mayBePath(word.slice(word.indexOf('=') + 1), 'unsafe');
        break;
      case 'stray':
        notes.path(word, 'read');
    }
  }
}

const alternatives = new Set(['-o', '-or', ',']);
const negations = new Set(['!', '-not']);
const actions = new Set(['-print', '-print0', '-printf', '-ls', '-quit']);

/** Tests joined by "and"; `parent` is the conjunction that contains their group. */
interface Conjunction {
  readonly parent: Conjunction | undefined;
  isPruned: boolean;
  acts: boolean;
}

interface Group {
  readonly conjunction: Conjunction | undefined;
  readonly isNegated: boolean;
}

/**
 * The terms of find's expression that leave files out instead of looking for them: `! -name .env`, and
 * `-name .env -prune -o -print`.
 */
function excludingTerms(terms: readonly FindTerm[]): ReadonlySet<FindTerm> {
  const conjunctions: Conjunction[] = [];
  const begin = (parent: Conjunction | undefined): Conjunction => {
    const conjunction = { parent, isPruned: false, acts: false };
    conjunctions.push(conjunction);
    return conjunction;
  };
  const tests: { at: number; term: FindTerm; conjunction: Conjunction; isNegated: boolean }[] = [];
  const groups: Group[] = [];
  let group: Group = { conjunction: undefined, isNegated: false };
  let current = begin(undefined);
  let isNegated = false;
  let lastAlternative = -1;
  for (const [at, term] of terms.entries()) {
    const { word } = term;
    if (negations.has(word)) {
      isNegated = !isNegated;
      continue;
    }
    if (word === '(') {
      groups.push(group);
      group = { conjunction: current, isNegated: group.isNegated !== isNegated };
      current = begin(current);
    } else if (word === ')') {
      current = group.conjunction ?? current;
      group = groups.pop() ?? group;
    } else if (alternatives.has(word)) {
      current = begin(group.conjunction);
      if (groups.length === 0) lastAlternative = at;
    } else if (word === '-prune') {
      if (!isNegated && !group.isNegated) current.isPruned = true;
    } else {
      if (actions.has(word)) current.acts = true;
      tests.push({ at, term, conjunction: current, isNegated: group.isNegated !== isNegated });
    }
    isNegated = false;
  }

  for (const { acts, parent } of conjunctions.toReversed()) if (acts && parent) parent.acts = true;
  // Without an action, find prints every file that the whole expression accepts, pruned ones included.
  const hasAction = conjunctions.some(({ acts }) => acts);
  const leavesOut = new Set<Conjunction>();
  for (const each of conjunctions) {
    const isLeftOut = hasAction && each.isPruned && !each.acts;
    if (isLeftOut || (each.parent && leavesOut.has(each.parent))) leavesOut.add(each);
  }
  const excluding = tests.filter(
    // `! -name .env -o -print` prints exactly .env: a negation only counts where no alternative follows.
    ({ at, conjunction, isNegated }) => leavesOut.has(conjunction) || (isNegated && at > lastAlternative),
  );
  return new Set(excluding.map(({ term }) => term));
}
