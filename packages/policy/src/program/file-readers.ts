import type { Manual } from './notes.ts';
import { type OptionTable, optionTable } from './options.ts';
import type { CommandRule } from './rules.ts';
import { onlyReads } from './rules.ts';

/** ls, cat, head, tail and wc: every operand is a file or directory that is read; `-` is one only for ls. */

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
        // `tail +5f x` is the old spelling of -n +5 -f; as a file name it would be inside, so both are covered.
        if (name === 'tail' && !afterDashes && /^\+\d*[bcl]?f$/.test(text)) notes.raise(neverEnds, text);
        if (name === 'ls') notes.path(text, 'read');
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
