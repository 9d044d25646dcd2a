import { wordList } from '../text.ts';
import type { Manual, Notes } from './notes.ts';
import { type OptionSection, type OptionTable, optionTable } from './options.ts';
import { type CommandRule, onlyPrints, onlyReads } from './rules.ts';

/** Programs for shell lines that read files or their input, and print (RK-2). What a table lacks is not LOW (VA-5). */

const writesOutput: CommandRule = {
  id: 'CMD-OUT-1',
  risk: 'HIGH',
  why: 'makes a program that reads write a file, or start another program',
  matches: [
    'sort -o out.txt a.txt',
    'sort -ro out.txt a.txt',
    'sort --output=out.txt a.txt',
    'sort --out out.txt a.txt',
    'sort a.txt -oout.txt',
    'sort --compress-program=./x a.txt',
    'sort --compress-prog ./x a.txt',
    'sort -T src a.txt',
    'uniq a.txt out.txt',
    'uniq -c -- a.txt out.txt',
    'uniq *',
    'uniq -c -- *.txt',
    'xxd *',
    'xxd -l * a.bin',
    'xxd a.bin out.txt',
    'xxd -r dump.txt out.dat',
    'xxd a.bin -o',
    'file -C -m magic',
    'tree -o out.txt',
    'tree -ao out.txt',
    'tree -Lo 2 out.txt',
    "tree -IPo x '*.ts' out.txt",
  ],
  doesNotMatch: [
    'sort -n a.txt',
    'sort -t o a.txt',
    'sort -k2,2 -- a.txt',
    'uniq -c a.txt',
    'uniq -f 1 a.txt',
    'xxd -l 16 a.bin',
    'file a.bin',
    'tree -a -L 2',
    'tree -dL 2 src',
    'for f in *.bin; do xxd -l 16 "$f"; done',
  ],
};

const listInFile: CommandRule = {
  id: 'CMD-LIST-1',
  risk: 'MEDIUM',
  why: 'takes names or patterns from a file, and so can show what is in that file or in others',
  matches: [
    'sort --files0-from=names.txt',
    'du --files0-from names.txt',
    'sha256sum -c sums.txt',
    'md5sum --check sums.txt',
    'diff -r -X names.txt a b',
    'diff --from-file=a.txt b.txt',
    'file -f names.txt',
    'du -X names.txt src',
    'jq -f filter.jq a.json',
    'jq --rawfile x a.txt . b.json',
  ],
  doesNotMatch: [
    'sort a.txt',
    'du -sh src',
    'sha256sum a.txt',
    'diff -r a b',
    'file a.txt',
    'jq -r .name a.json',
  ],
};

type Operands = (operands: readonly string[], notes: Notes) => void;

const files: Operands = (operands, notes) => {
  for (const text of operands) notes.pathOrStream(text, 'read');
};
const texts: Operands = () => {};

/** Reads the first operand, writes the second. */
const inputThenOutput: Operands = ([input, output, ...more], notes) => {
  if (input !== undefined) notes.pathOrStream(input, 'read');
  if (output !== undefined && output !== '-') {
    notes.raise(writesOutput, output);
    notes.path(output, 'write');
  }
  files(more, notes);
};

function reader(
  names: string,
  section: OptionSection & Partial<OptionTable>,
  operands: Operands = files,
  base: CommandRule = onlyReads,
): Manual {
  const table = optionTable({ ...section, flags: `${section.flags ?? ''} --help --version` });
  return {
    names: names.split(' '),
    onlyReads: true,
    rules: [],
    read(args, notes) {
      notes.raise(base);
      operands(
        notes.options(args, table).map(({ text }) => text),
        notes,
      );
    },
  };
}

const sums = '-b --binary -t --text -z --zero --tag --ignore-missing --quiet --status --strict -w --warn';

/** xxd does not bundle: the first letter of a word is the option, and a value is glued to it or the next word. After its input
 * a word with a dash is its output. */
const xxdLong: ReadonlyMap<string, string> = new Map(
  wordList('cols groupsize len name offset seek').map((name) => [`-${name}`, `-${name[0]}`] as const),
);
const xxdTable = optionTable({
  permutes: false,
  flags: '-a -b -C -d -e -E -i -p -u -h -v -t',
  values: '-c -g -l -n -o -s -R',
  rows: [{ names: '-r', rule: writesOutput }],
});
const xxd: Manual = {
  names: ['xxd'],
  onlyReads: true,
  countsOperands: true,
  rules: [],
  read(args, notes) {
    notes.raise(onlyReads);
    const words = args.map((word) => {
      const short = word.replace(/^--(?=.)/, '-');
      const flag = /^-([abCdeEiphurtv])/.exec(short);
      return flag ? `-${flag[1]}` : (xxdLong.get(short) ?? short);
    });
    inputThenOutput(
      notes.options(words, xxdTable).map(({ text }) => text),
      notes,
    );
  },
};

export const textReaders: readonly Manual[] = [
  reader('cut', {
    flags: '-n -s --only-delimited -z --zero-terminated --complement',
    values: '-b --bytes -c --characters -d --delimiter -f --fields --output-delimiter',
  }),
  {
    ...reader('sort', {
      flags: `-b --ignore-leading-blanks -d --dictionary-order -f --ignore-case -g --general-numeric-sort
      -i --ignore-nonprinting -M --month-sort -h --human-numeric-sort -n --numeric-sort -R --random-sort -r --reverse -V
      --version-sort -c -C -m --merge -s --stable -u --unique -z --zero-terminated --debug`,
      values: '-k --key -S --buffer-size -t --field-separator --sort --parallel --batch-size',
      optionalValues: '--check',
      rows: [
        { names: '-o --output', value: 'write', rule: writesOutput },
        { names: '--compress-program', value: 'run', rule: writesOutput },
        { names: '-T --temporary-directory', value: 'write', rule: writesOutput },
        { names: '--files0-from', value: 'read', stream: true, rule: listInFile },
        { names: '--random-source', value: 'read' },
      ],
    }),
    rules: [writesOutput, listInFile],
  },
  {
    ...reader(
      'uniq',
      {
        flags: '-c --count -d --repeated -D -i --ignore-case -u --unique -z --zero-terminated',
        values: '-f --skip-fields -s --skip-chars -w --check-chars',
        optionalValues: '--all-repeated --group',
        numbers: 'count',
      },
      inputThenOutput,
    ),
    countsOperands: true,
  },
  reader(
    'tr',
    { flags: '-c -C --complement -d --delete -s --squeeze-repeats -t --truncate-set1' },
    texts,
    onlyPrints,
  ),
  reader('nl', {
    flags: '-p --no-renumber',
    values: `-b --body-numbering -d --section-delimiter -f --footer-numbering -h --header-numbering -i --line-increment
      -l --join-blank-lines -n --number-format -s --number-separator -v --starting-line-number -w --number-width`,
  }),
  reader('tac', { flags: '-b --before -r --regex', values: '-s --separator' }),
  reader('rev', { flags: '-0 --zero' }),
  reader('fold', { flags: '-b --bytes -c --characters -s --spaces', values: '-w --width', numbers: 'count' }),
  reader('fmt', {
    flags: '-c --crown-margin -s --split-only -t --tagged-paragraph -u --uniform-spacing',
    values: '-p --prefix -w --width -g --goal',
    numbers: 'count',
  }),
  reader('paste', { flags: '-s --serial -z --zero-terminated', values: '-d --delimiters' }),
  reader('join', {
    flags: '-i --ignore-case --check-order --nocheck-order --header -z --zero-terminated',
    values: '-a -e -1 -2 -j -o -t -v',
  }),
  reader('expand unexpand', { flags: '-i --initial -a --all --first-only', values: '-t --tabs' }),
  reader('column', {
    flags:
      '-t --table -x --fillrows -J --json -L --keep-empty-lines -e --table-header-repeat -d --table-noheadings -m',
    values: `-s --separator -o --output-separator -c --output-width -N --table-columns -n --table-name -R --table-right
      -T --table-truncate -H --table-hide -E --table-noextreme -W --table-wrap -O --table-order -l --table-columns-limit`,
  }),
  reader('strings', {
    flags: '-a --all -d --data -f --print-file-name -w --include-all-whitespace',
    values: '-n --bytes -t --radix -e --encoding -s --output-separator',
    numbers: 'count',
  }),
  {
    ...reader('diff', {
      flags: `--normal -q --brief -s --report-identical-files -c -u -e --ed -n --rcs -y --side-by-side --left-column
        --suppress-common-lines -p --show-c-function -t --expand-tabs -T --initial-tab -r --recursive --no-dereference -N
        --new-file --unidirectional-new-file -a --text -i --ignore-case --ignore-file-name-case
        --no-ignore-file-name-case -E --ignore-tab-expansion -Z --ignore-trailing-space -b --ignore-space-change -w
        --ignore-all-space -B --ignore-blank-lines --strip-trailing-cr --suppress-blank-empty -d --minimal
        --speed-large-files -H`,
      values: `-C -U -W --width -F --show-function-line -L --label -I --ignore-matching-lines -D --ifdef -x --exclude -S
        --starting-file --tabsize --horizon-lines --palette --line-format --old-line-format --new-line-format
        --unchanged-line-format --old-group-format --new-group-format --unchanged-group-format --changed-group-format`,
      optionalValues: '--color --context --unified',
      numbers: 'anywhere',
      rows: [
        { names: '-X --exclude-from', value: 'read', stream: true, rule: listInFile },
        { names: '--from-file --to-file', value: 'read', stream: true, rule: listInFile },
      ],
    }),
    rules: [],
  },
  reader('cmp', {
    flags: '-b --print-bytes -l --verbose -s --quiet --silent',
    values: '-i --ignore-initial -n --bytes',
  }),
  reader('comm', {
    flags: '-1 -2 -3 --check-order --nocheck-order --total -z --zero-terminated',
    values: '--output-delimiter',
  }),
  reader('sha256sum sha1sum sha224sum sha384sum sha512sum md5sum b2sum cksum', {
    flags: sums,
    values: '-a --algorithm -l --length',
    rows: [{ names: '-c --check', rule: listInFile }],
  }),
  reader('sum', { flags: '-r -s --sysv' }),
  xxd,
  reader('od', {
    flags: '-b -c -d -f -i -l -o -s -x -v --output-duplicates',
    values: '-A --address-radix -j --skip-bytes -N --read-bytes -S -t --format --endian',
    optionalValues: '-w --width --strings',
  }),
  reader('hexdump hd', { flags: '-b -c -C -d -o -x -v', values: '-e -n -s --length --skip' }),
  {
    ...reader('file', {
      flags: `-b --brief -E -h --no-dereference -i --mime --mime-type --mime-encoding -k --keep-going -L --dereference -l --list
        -N --no-pad -n --no-buffer -p -r --raw -s --special-files -v -0 --print0 --extension --apple`,
      values: '-e --exclude -F --separator -P --parameter',
      rows: [
        { names: '-f --files-from', value: 'read', stream: true, rule: listInFile },
        { names: '-m --magic-file', value: 'read', rule: listInFile },
        // Writes magic.mgc; -z starts programs that unpack.
        { names: '-C --compile -z --uncompress -Z --uncompress-noreport', rule: writesOutput },
      ],
    }),
    rules: [],
  },
];

/** Programs that print their words, or a fact about this machine. */
const longSleep: CommandRule = {
  id: 'CMD-SLEEP-1',
  risk: 'MEDIUM',
  why: 'waits for more than a minute',
  matches: ['sleep 61', 'sleep 2m', 'sleep 1h', 'sleep 30 40', 'sleep infinity', 'sleep 1e3'],
  doesNotMatch: ['sleep 60', 'sleep 0.5', 'sleep 5 && ls', 'sleep 1m', 'sleep 10s'],
};

const printing = (names: string, flags = '', values = ''): Manual =>
  reader(names, { flags, values }, texts, onlyPrints);

/** `sleep 1m 30s`. Undefined if a word is not a plain number of seconds, minutes or hours. */
function secondsOf(words: readonly string[]): number | undefined {
  let sum = 0;
  for (const word of words) {
    const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([smh]?)$/.exec(word) ?? [];
    if (amount === undefined) return undefined;
    sum += Number(amount) * ({ m: 60, h: 3600 }[unit] ?? 1);
  }
  return sum;
}

const setsShell: CommandRule = {
  id: 'CMD-SHELL-1',
  risk: 'HIGH',
  why: 'changes how the shell reads the rest of the line',
  matches: [
    'set -f',
    'set -o posix',
    'set -- a b',
    'printf -v x a',
    "printf 'a%n' IFS",
    "printf -- '%5n' x",
    'command ls',
  ],
  doesNotMatch: [
    'set -e',
    'set -euo pipefail',
    'set -o pipefail',
    'printf a',
    "printf '100%%\\n%d%\\n' 1",
    'command -v node',
  ],
};

/** `set` may only make the shell stop at errors. */
const set: Manual = {
  names: ['set'],
  onlyReads: true,
  rules: [setsShell],
  read(args, notes) {
    notes.raise(onlyPrints);
    for (let at = 0; at < args.length; at++) {
      const word = args[at] as string;
      if (/^[-+]o$/.test(word) || /^-[eux]+o$/.test(word)) {
        const name = args[++at] ?? '';
        if (!/^(pipefail|errexit|nounset|xtrace)$/.test(name)) notes.raise(setsShell, `${word} ${name}`);
      } else if (!/^[-+][eux]+$/.test(word)) notes.raise(setsShell, word);
    }
  },
};

/** `command -v NAME` and `command -V NAME` say what a name is; without them, `command` runs it. */
const commandBuiltin: Manual = {
  names: ['command'],
  onlyReads: true,
  rules: [],
  read(args, notes) {
    notes.raise(onlyPrints);
    if (!/^-[vV]$/.test(args[0] ?? '')) notes.raise(setsShell, args[0] ?? 'command');
  },
};

const printf: Manual = {
  names: ['printf'],
  onlyReads: true,
  scriptFirst: true,
  rules: [],
  read(args, notes) {
    notes.raise(onlyPrints);
    // `-v name` sets a variable, whose index bash evaluates, and `%n` one that is named by a word.
    const format = args[0] === '--' ? args[1] : args[0];
    if (/^-|(^|[^%])(%%)*%[-+ #'0-9.*]*[hjlqtzL]*n/.test(format ?? '')) notes.raise(setsShell, format);
  },
};

export const printers: readonly Manual[] = [
  set,
  commandBuiltin,
  printf,
  { ...printing(': true false exit'), read: (_, notes) => notes.raise(onlyPrints) },
  printing('seq', '-w --equal-width', '-f --format -s --separator'),
  printing('basename', '-a --multiple -z --zero', '-s --suffix'),
  printing('dirname', '-z --zero'),
  printing('which', '-a -s --all --skip-alias --skip-functions'),
  printing('type', '-a -f -p -P -t'),
  printing('whereis', '-b -m -s'),
  printing(
    'uname',
    '-a --all -s -n -r -v -m -p -i -o --machine --kernel-name --kernel-release --operating-system',
  ),
  printing('id', '-u -g -G -n -r --user --group --groups --name'),
  printing('nproc', '--all', '--ignore'),
  printing('arch'),
  printing('expr'),
  printing('groups'),
  printing(
    'df',
    '-h --human-readable -H -i --inodes -k -T --print-type -a -l --local -P --portability --total',
    '-B -t -x',
  ),
  printing('free', '-h --human -m -g -k -b -t --total -w'),
  printing('uptime', '-p --pretty -s --since'),
  {
    ...printing('hostname', '-s --short -f --fqdn --long -i -I -d'),
    read(args, notes) {
      notes.raise(onlyPrints);
      const table = optionTable({ flags: '-s --short -f --fqdn --long -i -I -d' });
      // A name as operand sets the name of the machine.
      for (const { text } of notes.options(args, table)) notes.unknownOption(text);
    },
  },
  {
    names: ['sleep'],
    onlyReads: true,
    rules: [longSleep],
    read(args, notes) {
      notes.raise(onlyPrints);
      const seconds = secondsOf(args);
      if (seconds === undefined || seconds > 60) notes.raise(longSleep, args.join(' '));
    },
  },
];

export { listInFile, writesOutput };
