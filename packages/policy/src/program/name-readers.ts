import type { Manual } from './notes.ts';
import { optionTable } from './options.ts';
import { type CommandRule, onlyReads } from './rules.ts';
import { listInFile, writesOutput } from './text-readers.ts';

/** Programs for shell lines that read the names, sizes and times of files, but not what is in them. */

const followsLinksInTree: CommandRule = {
  id: 'CMD-TREE-1',
  risk: 'MEDIUM',
  why: 'follows every link it meets, also out of the workspace',
  needsPerson: true,
  matches: ['tree -l', 'du -L src', 'du --dereference src', 'rg -L foo', 'rg --follow foo src', 'fd -L x'],
  doesNotMatch: ['tree -L 2', 'du -sh', 'rg -l foo', 'fd x'],
};

const evaluatesName: CommandRule = {
  id: 'CMD-TEST-1',
  risk: 'HIGH',
  why: 'asks about a variable, whose index bash evaluates as code',
  matches: ["test -v 'a[0]'", "[ -v 'a[0]' ]", '[ ! -R x ]'],
  doesNotMatch: ['test -f a.txt', '[ -d src ]', "[ 'a' = '-v' ]"],
};

const statTable = optionTable({
  flags: '-L --dereference -f --file-system -t --terse --help --version',
  values: '-c --format --printf --cached',
});
const stat: Manual = {
  names: ['stat'],
  onlyReads: true,
  rules: [],
  read(args, notes) {
    notes.raise(onlyReads);
    for (const { text } of notes.options(args, statTable)) notes.path(text, 'name');
  },
};

const linkTable = optionTable({
  flags: `-f --canonicalize -e --canonicalize-existing -m --canonicalize-missing -n --no-newline -q --quiet -s --silent
    --strip --no-symlinks -L --logical -P --physical -v --verbose -z --zero --help --version`,
  values: '--relative-to --relative-base',
});
const readlink: Manual = {
  names: ['readlink', 'realpath'],
  onlyReads: true,
  rules: [],
  read(args, notes) {
    notes.raise(onlyReads);
    for (const { text } of notes.options(args, linkTable)) notes.path(text, 'name');
  },
};

const duTable = optionTable({
  flags: `-0 --null -a --all --apparent-size -b --bytes -c --total -D --dereference-args -H -h --human-readable --inodes -k -l
    --count-links -m -P --no-dereference -S --separate-dirs --si -s --summarize -x --one-file-system --help --version`,
  values: '-B --block-size -d --max-depth -t --threshold --exclude --time-style',
  optionalValues: '--time',
  rows: [
    { names: '-L --dereference', rule: followsLinksInTree },
    { names: '-X --exclude-from', value: 'read', rule: listInFile },
    { names: '--files0-from', value: 'read', stream: true, rule: listInFile },
  ],
});
const du: Manual = {
  names: ['du'],
  onlyReads: true,
  rules: [followsLinksInTree],
  read(args, notes) {
    notes.raise(onlyReads);
    const operands = notes.options(args, duTable);
    for (const { text } of operands) notes.path(text, 'name');
    if (operands.length === 0) notes.path('.', 'name');
  },
};

const treeTable = optionTable({
  abbreviations: false,
  flags: `-a -d -f -i -q -N -Q -p -u -g -s -h --si -D -F --inodes --device -v -t -c -U -r --dirsfirst --filesfirst -A -S -n -C -X
    -J --noreport --prune --matchdirs --ignore-case --du --gitignore --metafirst -x --nolinks --help --version`,
  values: '-L -P -I --filelimit --timefmt --sort --charset -T',
  rows: [
    { names: '-l', rule: followsLinksInTree },
    { names: '-o', value: 'write', rule: writesOutput },
    // -R with -H writes a file into each folder.
    { names: '-R', rule: writesOutput },
    { names: '-H', value: 'text', rule: writesOutput },
    { names: '--gitfile --infofile', value: 'read', rule: listInFile },
    { names: '--fromfile --fromtabfile --fromgitfile', rule: listInFile },
  ],
});

/** In `tree -Lo 2 out.txt` each letter of a bundle takes its value from the next word that is left. */
function unbundled(args: readonly string[]): readonly string[] {
  const words: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] as string;
    if (word === '--') return [...words, ...args.slice(at)];
    const letters = /^-([^-].*)$/s.exec(word)?.[1]?.replace(/(?<=L)\d+/g, '');
    if (letters === undefined) words.push(word);
    else
      for (const letter of letters) {
        words.push(`-${letter}`);
        if (/[LPITHo]/.test(letter) && at + 1 < args.length) words.push(args[++at] as string);
      }
  }
  return words;
}

const tree: Manual = {
  names: ['tree'],
  onlyReads: true,
  rules: [],
  read(args, notes) {
    notes.raise(onlyReads);
    const operands = notes.options(unbundled(args), treeTable);
    // With --fromfile it prints the lines of its operands.
    const use = args.some((word) => /^--from/.test(word)) ? 'read' : 'name';
    for (const { text } of operands) notes.path(text, use);
    if (operands.length === 0) notes.path('.', 'name');
  },
};

const FILE_TEST = /^-[abcdefghkprsuwxGLNOSt]$/;
const COMPARES_FILES = /^-(ef|nt|ot)$/;
const OPERATOR = /^(=|==|!=|<|>|-(eq|ne|lt|le|gt|ge)|-[ao]|[!()])$/;

/** `test` and `[`. Its words are operators, texts, and files that are looked at but not read. */
const test: Manual = {
  names: ['test', '['],
  onlyReads: true,
  ignoresDashes: true,
  rules: [evaluatesName],
  read(args, notes) {
    notes.raise(onlyReads);
    const words = args.at(-1) === ']' ? args.slice(0, -1) : args;
    for (const [index, word] of words.entries()) {
      const next = words[index + 1];
      const isOperand = index > 0 && /^(=|==|!=)$/.test(words[index - 1] as string);
      if (
        /^-[vR]$/.test(word) &&
        !isOperand &&
        next !== undefined &&
        (index === 0 || /^[!(]|-[ao]$/.test(words[index - 1] as string))
      )
        notes.raise(evaluatesName, next);
      else if (FILE_TEST.test(word) && word !== '-t' && next !== undefined && !OPERATOR.test(next))
        notes.path(next, 'name');
      else if (COMPARES_FILES.test(word))
        for (const file of [words[index - 1], next]) if (file) notes.path(file, 'name');
    }
  },
};

export const nameReaders: readonly Manual[] = [stat, readlink, du, tree, test];
export { followsLinksInTree };
