import type { CommandRule } from '../command/command-rule.ts';
import { onlyReads, unknownOption } from '../command/general-rules.ts';
import type { Judgement } from '../command/judgement.ts';
import { excludingTests } from './find/excluding-tests.ts';
import { picksSecretsByName, picksSecretsByRegex } from './find/secret-names.ts';
import { type Program, refuseUnsafe } from './program.ts';

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

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

const withoutArgument =
  words(`-daystart -depth -d -ignore_readdir_race -noignore_readdir_race -mount -xdev -noleaf -warn
  -nowarn -empty -executable -false -true -nogroup -nouser -readable -writable -print -print0 -ls -prune -quit -a -and -o
  -or -not -help --help -version --version ( ) ! ,`);
const withText = words(`-amin -atime -cmin -ctime -fstype -gid -group -inum -links -maxdepth
  -mindepth -mmin -mtime -perm -regextype -size -type -uid -used -user -xtype -context -printf`);
const withName = words('-name -iname -path -ipath -wholename -iwholename -lname -ilname');
const withRegex = words('-regex -iregex');
const withReference = words('-newer -anewer -cnewer -samefile');
const executing = words('-exec -execdir -ok -okdir');
const writing = words('-delete -fprint -fprint0 -fprintf -fls');

/** Leading options, then starting points, then the expression: find has no getopt grammar. */
export const find: Program = {
  names: ['find'],
  rules: [runsPrograms, writes, followsLinks, pathsFromFile, looksForSecrets],
  judge(args, judgement) {
    judgement.raise(onlyReads);
    const startingPoints = judgeLeadingOptions(args, judgement);
    let at = startingPoints;
    for (; at < args.length && !startsExpression(args[at] as string); at++)
      judgement.path(args[at] as string, 'read');
    if (at === startingPoints && !args.includes('-files0-from')) judgement.path('.', 'read');
    judgeExpression(args, at, judgement);
  },
};

function judgeLeadingOptions(args: readonly string[], judgement: Judgement): number {
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '--') return at + 1;
    if (arg === '-L') judgement.raise(followsLinks, arg);
    else if (arg === '-D') at++;
    else if (arg !== '-H' && arg !== '-P' && !/^-O\d*$/.test(arg)) break;
  }
  return at;
}

const startsExpression = (arg: string): boolean =>
  (arg.startsWith('-') && arg !== '-') || arg === '(' || arg === '!' || arg === ')' || arg === ',';

const takesArgument = (arg: string): boolean =>
  withText.has(arg) ||
  withName.has(arg) ||
  withRegex.has(arg) ||
  withReference.has(arg) ||
  /^-newer../.test(arg);

function judgeExpression(args: readonly string[], from: number, judgement: Judgement): void {
  const excluding = excludingTests(args, from, takesArgument);
  for (let at = from; at < args.length; at++) {
    const arg = args[at] as string;
    const next = args[at + 1];
    if (withoutArgument.has(arg)) continue;
    if (withText.has(arg)) at++;
    else if (withName.has(arg) || withRegex.has(arg)) {
      const picksSecrets = withRegex.has(arg) ? picksSecretsByRegex : picksSecretsByName;
      if (next !== undefined && !excluding.has(at) && picksSecrets(next))
        judgement.raise(looksForSecrets, next);
      at++;
    } else if (withReference.has(arg) || /^-newer[aBcm][aBcm]$/.test(arg)) {
      if (next !== undefined) judgement.path(next, 'read');
      at++;
    } else if (/^-newer[aBcm]t$/.test(arg)) at++;
    else if (arg === '-files0-from') {
      judgement.raise(pathsFromFile, arg);
      if (next !== undefined) judgement.pathOrStream(next, 'read');
      at++;
    } else if (arg === '-follow' || arg === '-L') judgement.raise(followsLinks, arg);
    else if (executing.has(arg.replace(/^--/, '-'))) {
      judgement.raise(runsPrograms, arg);
      return;
    } else if (writing.has(arg.replace(/^--/, '-'))) {
      // Where it would write outside, that is what the person should read.
      if (next !== undefined && arg !== '-delete') judgement.path(next, 'write');
      judgement.raise(writes, arg);
      return;
    } else if (startsExpression(arg)) {
      judgement.raise(unknownOption, arg);
      refuseUnsafe(arg.slice(arg.indexOf('=') + 1), judgement);
    } else judgement.path(arg, 'read');
  }
}
