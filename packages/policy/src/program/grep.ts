import type { Manual } from './notes.ts';
import { optionTable, parseOptions } from './options.ts';
import type { CommandRule } from './rules.ts';
import { onlyReads } from './rules.ts';

const patternsFromFile: CommandRule = {
  id: 'CMD-GREP-1',
  risk: 'MEDIUM',
  why: 'takes its patterns from a file, and so can show what is in that file',
  matches: [
    'grep -f docs/notes.txt README.md',
    'grep -if docs/notes.txt README.md',
    'grep --fi=docs/notes.txt README.md',
    'grep -rn x --exclude-from=.gitignore src',
  ],
  doesNotMatch: [
    'grep -e -f README.md',
    'grep -- -f README.md',
    'grep -F foo README.md',
    'grep -rn --exclude-dir=node_modules x .',
  ],
};

const followsLinks: CommandRule = {
  id: 'CMD-GREP-2',
  risk: 'MEDIUM',
  why: 'follows every link it meets, also out of the workspace',
  needsPerson: true,
  matches: ['grep -R x .', 'grep -nRl x src', 'grep --dereference-recursive x .', 'grep --deref x .'],
  doesNotMatch: ['grep -r x .', 'grep --recursive x src', 'grep -d recurse x src'],
};

const options = optionTable({
  flags: `-E --extended-regexp -F --fixed-strings -G --basic-regexp -P --perl-regexp -i -y --ignore-case --no-ignore-case
    -w --word-regexp -x --line-regexp -z --null-data -s --no-messages -v --invert-match -V --version --help
    -b --byte-offset -n --line-number --line-buffered -H --with-filename -h --no-filename -o --only-matching
    -q --quiet --silent -a --text -I -L --files-without-match -l --files-with-matches -c --count
    -T --initial-tab -Z --null --no-group-separator -U --binary -u --unix-byte-offsets`,
  values: `-m --max-count --label --binary-files -d --directories -D --devices --exclude --exclude-dir
    -A --after-context -B --before-context -C --context --group-separator -X`,
  optionalValues: '--color --colour',
  numbers: 'anywhere',
  rows: [
    { names: '-e --regexp', value: 'text' },
    { names: '-r --recursive' },
    { names: '-f --file', value: 'read', stream: true, rule: patternsFromFile },
    { names: '--exclude-from', value: 'read', stream: true, rule: patternsFromFile },
    { names: '--include', value: (glob, notes) => notes.glob(glob) },
    { names: '-R --dereference-recursive', rule: followsLinks },
  ],
});
const patternRows = new Set([options.long.get('regexp'), options.long.get('file')]);
const recursiveRows = new Set([
  options.long.get('recursive'),
  options.long.get('dereference-recursive'),
  options.long.get('directories'),
]);

/** The first operand is the pattern, unless -e or -f gave one anywhere on the line. */
export const grep: Manual = {
  names: ['grep'],
  onlyReads: true,
  rules: [patternsFromFile, followsLinks],
  read(args, notes) {
    notes.raise(onlyReads);
    const words = parseOptions(args, options);
    let isPatternGiven = words.some((word) => word.kind === 'option' && patternRows.has(word.row));
    let namesFile = false;
    for (const word of words) {
      if (word.kind !== 'operand') notes.option(word);
      else if (isPatternGiven) {
        notes.pathOrStream(word.text, 'read');
        namesFile = true;
      } else isPatternGiven = true;
    }
    const isRecursive = words.some((word) => word.kind === 'option' && recursiveRows.has(word.row));
    if (isRecursive && !namesFile) notes.path('.', 'read');
  },
};
