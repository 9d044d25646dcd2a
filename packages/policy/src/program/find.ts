import { excludingTerms } from './find/excluding-terms.ts';
import { type FindTerm, readFindWords } from './find/find-words.ts';
import { picksSecretsByName, picksSecretsByRegex } from './find/secret-names.ts';
import type { Manual, Notes } from './notes.ts';
import type { CommandRule } from './rules.ts';
import { onlyReads } from './rules.ts';

const runsPrograms: CommandRule = {
  id: 'CMD-FIND-1',
  risk: 'REJECT',
  why: 'starts another program for what it finds; use the output of find, or shell_exec',
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
  why: 'deletes or writes files; use delete_file or write_file',
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
        // Where it would write outside, that is what the person should read.
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
