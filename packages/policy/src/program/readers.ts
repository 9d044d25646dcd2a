import type { Manual } from './notes.ts';
import { OptionState, type OptionTable, optionTable, parseOptions } from './options.ts';
import { type CommandRule, onlyPrints, onlyReads } from './rules.ts';

const listFollowsLinks: CommandRule = {
  id: 'CMD-LS-1',
  risk: 'MEDIUM',
  why: 'shows what links lead to, also outside the workspace',
  needsPerson: true,
  matches: ['ls -L', 'ls -lL src', 'ls --dereference .', 'ls -LR'],
  doesNotMatch: ['ls -l', 'ls -R', 'ls -H src', 'ls --dereference-command-line src'],
};

const neverEnds: CommandRule = {
  id: 'CMD-TAIL-1',
  risk: 'MEDIUM',
  why: 'waits for more and does not end by itself',
  matches: [
    'tail -f logs/app.log',
    'tail -F logs/app.log',
    'tail -5f logs/app.log',
    'tail --follow=name logs/app.log',
    'tail -qf logs/app.log',
    'tail --retry logs/app.log',
    'tail --pid=1 logs/app.log',
    'tail +5f logs/app.log',
  ],
  doesNotMatch: [
    'tail -n 5 logs/app.log',
    'tail -5 logs/app.log',
    'tail +5 logs/app.log',
    'tail -c5 logs/app.log',
    'tail -- -f',
  ],
};

const pathsFromFile: CommandRule = {
  id: 'CMD-WC-1',
  risk: 'MEDIUM',
  why: 'takes the files to count from a list in a file',
  needsPerson: true,
  matches: ['wc --files0-from=docs/notes.txt', 'wc -l --files0-from -', 'wc --files=docs/notes.txt'],
  doesNotMatch: ['wc -l docs/notes.txt', 'wc -- --files0-from=x'],
};

const lsOptions = optionTable({
  flags: `-a --all -A --almost-all --author -b --escape -B --ignore-backups -c -C -d --directory -D --dired -f --file-type
    --full-time -g --group-directories-first -G --no-group -h --human-readable --si -H --dereference-command-line
    --dereference-command-line-symlink-to-dir -i --inode -k --kibibytes -l -m -n --numeric-uid-gid -N --literal -o -p -q
    --hide-control-chars --show-control-chars -Q --quote-name -r --reverse -R --recursive -s --size -S -t -u -U -v -x -X
    -Z --context -1 --zero --help --version -F`,
  values: `--block-size --format --hide --indicator-style -I --ignore --quoting-style --sort --time --time-style -T --tabsize
    -w --width`,
  optionalValues: '--color --classify --hyperlink',
  rows: [{ names: '-L --dereference', rule: listFollowsLinks }],
});

const catOptions = optionTable({
  flags: `-A --show-all -b --number-nonblank -e -E --show-ends -n --number -s --squeeze-blank -t -T --show-tabs -u -v
    --show-nonprinting --help --version`,
});

const headOptions = optionTable({
  flags: '-q --quiet --silent -v --verbose -z --zero-terminated --help --version',
  values: '-c --bytes -n --lines',
  numbers: 'count',
});

const tailOptions = optionTable({
  flags:
    '-q --quiet --silent -v --verbose -z --zero-terminated --help --version --disable-inotify ---disable-inotify --debug',
  values: '-c --bytes -n --lines --max-unchanged-stats -s --sleep-interval',
  numbers: 'count',
  rows: [
    { names: '-f -F --retry', rule: neverEnds },
    { names: '--follow', value: 'text', optional: true, rule: neverEnds },
    { names: '--pid', value: 'text', rule: neverEnds },
  ],
});

const wcOptions = optionTable({
  flags: `-c --bytes -m --chars -l --lines -L --max-line-length -w --words --help --version --debug`,
  values: '--total',
  rows: [{ names: '--files0-from', value: 'read', stream: true, rule: pathsFromFile }],
});

/** ls, cat, head, tail and wc: every operand is a file or directory that is read. `-` is a file only to ls. */
function reader(name: string, options: OptionTable, rules: readonly CommandRule[] = []): Manual {
  return {
    names: [name],
    onlyReads: true,
    ...(name !== 'ls' && { inShell: true }),
    rules,
    read(args, notes) {
      notes.raise(onlyReads);
      const operands = notes.options(args, options);
      for (const { text, afterDashes } of operands) {
        // `tail +5f x` is the old spelling of -n +5 -f. It is also noted as a file name.
        if (name === 'tail' && !afterDashes && /^\+\d*[bcl]?f$/.test(text)) notes.raise(neverEnds, text);
        if (name === 'ls') notes.path(text, 'name');
        else notes.pathOrStream(text, 'read');
      }
      if (name === 'ls' && operands.length === 0) notes.path('.', 'read');
    },
  };
}

export const ls = reader('ls', lsOptions, [listFollowsLinks]);
export const cat = reader('cat', catOptions);
export const head = reader('head', headOptions);
export const tail = reader('tail', tailOptions, [neverEnds]);
export const wc = reader('wc', wcOptions, [pathsFromFile]);

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

const grepFollowsLinks: CommandRule = {
  id: 'CMD-GREP-2',
  risk: 'MEDIUM',
  why: 'follows every link it meets, also out of the workspace',
  needsPerson: true,
  matches: ['grep -R x .', 'grep -nRl x src', 'grep --dereference-recursive x .', 'grep --deref x .'],
  doesNotMatch: ['grep -r x .', 'grep --recursive x src', 'grep -d recurse x src'],
};

const grepOptions = optionTable({
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
    { names: '-R --dereference-recursive', rule: grepFollowsLinks },
  ],
});

/** The first operand is the pattern, unless -e or -f gave one anywhere on the line. */
export const grep: Manual = {
  names: ['grep'],
  onlyReads: true,
  rules: [patternsFromFile, grepFollowsLinks],
  read(args, notes) {
    notes.raise(onlyReads);
    const words = parseOptions(args, grepOptions);
    const state = new OptionState(words);
    let isPatternGiven = state.wasGiven('--regexp', '--file');
    let namesFile = false;
    for (const word of words) {
      if (word.kind !== 'operand') notes.option(word);
      else if (isPatternGiven) {
        notes.pathOrStream(word.text, 'read');
        namesFile = true;
      } else isPatternGiven = true;
    }
    const isRecursive = state.wasGiven('--recursive', '--dereference-recursive', '--directories');
    if (isRecursive && !namesFile) notes.path('.', 'read');
  },
};

const looksEverywhere: CommandRule = {
  id: 'CMD-LOCATE-1',
  risk: 'MEDIUM',
  why: 'lists file names of the whole machine, not only of the workspace',
  matches: ['locate tsconfig.json', 'locate -c x', 'locate --version'],
  doesNotMatch: ['find . -name tsconfig.json', 'echo locate'],
};

const locateOptions = optionTable({
  flags: `-A --all -b --basename -c --count -e --existing -E --non-existing -L --follow -h --help -i --ignore-case
    -p --ignore-spaces -m --mmap -P --nofollow -H -N --literal -0 --null -S --statistics -q --quiet -r --regexp --regex
    -s --stdio -V --version -w --wholename -t --transliterate --max-database-age --debug`,
  values: '-l -n --limit --regextype -o --output-zero',
  rows: [
    {
      names: '-d --database',
      // The value is a list like PATH; an empty part is the machine's own database.
      value: (list, notes) => {
        for (const path of list.split(':')) if (path !== '') notes.pathOrStream(path, 'read');
      },
    },
  ],
});

/** Operands are patterns, not paths. */
export const locate: Manual = {
  names: ['locate'],
  onlyReads: true,
  inShell: true,
  rules: [looksEverywhere],
  read(args, notes) {
    notes.raise(looksEverywhere);
    notes.options(args, locateOptions);
  },
};

/** The operands of echo, pwd and whoami are text or nothing; echo has no options that matter. */
const printer = (name: string, options?: OptionTable): Manual => ({
  names: [name],
  onlyReads: true,
  rules: [],
  read(args, notes) {
    notes.raise(onlyPrints);
    if (options) notes.options(args, options);
  },
});

export const echo = printer('echo');
export const pwd = printer('pwd', optionTable({ flags: '-L --logical -P --physical --help --version' }));
export const whoami = printer('whoami', optionTable({ flags: '--help --version' }));

const setsClock: CommandRule = {
  id: 'CMD-DATE-1',
  risk: 'REJECT',
  why: "sets this machine's clock",
  matches: [
    'date -s 12:00',
    'date --set 12:00',
    'date --se=12:00',
    'date -us12:00',
    'date 123123592029',
    'date -u 01010000',
    'date -- 12312359',
  ],
  doesNotMatch: [
    'date',
    'date +%s',
    'date -d yesterday',
    "date -d '2020-01-01' +%F",
    'date -Iseconds',
    'date -u',
    'date --rfc-3339=ns',
  ],
};

const datesFromFile: CommandRule = {
  id: 'CMD-DATE-2',
  risk: 'MEDIUM',
  why: 'reads dates from a file, and shows the lines that are none',
  matches: ['date -f docs/notes.txt', 'date --file=docs/notes.txt', 'date -uf docs/notes.txt'],
  doesNotMatch: ['date -d now', 'date -r README.md'],
};

const dateOptions = optionTable({
  // BSD's -j (do not set the clock) makes operands harmless; GNU date refuses it.
  flags:
    '--debug -R --rfc-email --rfc-822 --rfc-2822 --resolution -u --utc --universal --uct --help --version -j',
  values: '-d --date --rfc-3339',
  optionalValues: '-I --iso-8601',
  rows: [
    { names: '-s --set', value: 'text', rule: setsClock },
    { names: '-f --file', value: 'read', stream: true, rule: datesFromFile },
    { names: '-r --reference', value: 'read' },
  ],
});

export const date: Manual = {
  names: ['date'],
  onlyReads: true,
  countsOperands: true,
  inShell: true,
  rules: [setsClock, datesFromFile],
  read(args, notes) {
    notes.raise(onlyPrints);
    const showsOnly = args[0] === '-j';
    for (const { text } of notes.options(args, dateOptions)) {
      if (!text.startsWith('+') && !showsOnly) notes.raise(setsClock, text);
    }
  },
};
