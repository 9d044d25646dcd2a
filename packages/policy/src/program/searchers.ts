import { followsLinksInTree } from './name-readers.ts';
import type { Manual } from './notes.ts';
import { OptionState, optionTable, parseOptions } from './options.ts';
import { type CommandRule, onlyReads } from './rules.ts';
import { listInFile } from './text-readers.ts';

/** rg, fd and jq, for shell lines. */

const startsProgram: CommandRule = {
  id: 'CMD-SEARCH-1',
  risk: 'HIGH',
  why: 'starts another program for what it finds',
  needsPerson: true,
  matches: [
    'rg --pre ./x foo',
    'rg --pre=./x foo',
    'rg foo src --pre ./x',
    'rg --hostname-bin=./x foo',
    'rg -z foo',
    'rg -nz foo',
    'fd -x wc',
    'fd . src --exec wc {}',
    'fd -e ts -X wc -l',
    'fd --exec-batch=rm x',
    'fd -Hx wc',
    'fd -l x',
  ],
  doesNotMatch: ['rg foo src', 'rg -- --pre', 'rg -e --pre src', 'fd x src', 'fd -e x'],
};

const glob = (value: string, notes: Parameters<Manual['read']>[1]): void => {
  if (!value.startsWith('!')) notes.glob(value);
};

const rgTable = optionTable({
  abbreviations: false,
  flags: `-i --ignore-case -S --smart-case -s --case-sensitive -w --word-regexp -x --line-regexp -n --line-number -N
    --no-line-number -l --files-with-matches --files-without-match -c --count --count-matches -o --only-matching -v
    --invert-match -F --fixed-strings --no-fixed-strings -P --pcre2 --no-pcre2 -U --multiline --multiline-dotall
    --no-multiline -H --with-filename -I --no-filename -p --pretty -q --quiet -a --text --binary -0 --null --null-data
    --heading --no-heading --vimgrep --trim --column --no-column --stats --json --hidden -. --no-hidden --no-ignore
    --no-ignore-vcs --no-ignore-parent --no-ignore-global --no-ignore-dot --no-ignore-exclude --no-ignore-files --ignore
    -u --unrestricted --one-file-system --no-config --no-messages --no-ignore-messages --line-buffered --block-buffered
    --crlf --unicode --no-unicode --files --type-list -h --help -V --version --debug --trace --byte-offset -b
    --passthru --passthrough --stop-on-nonmatch --no-context-separator --max-columns-preview --glob-case-insensitive
    --sort-files --include-zero --no-encoding --no-follow --mmap --no-mmap --no-require-git --auto-hybrid-regex`,
  values: `-A --after-context -B --before-context -C --context -m --max-count -M --max-columns -t --type -T --type-not
    --type-add --type-clear -d --max-depth --maxdepth --max-filesize -j --threads -E --encoding -r --replace --color --colors
    --context-separator --field-context-separator --field-match-separator --engine --path-separator --sort --sortr
    --regex-size-limit --dfa-size-limit --hyperlink-format`,
  numbers: 'anywhere',
  rows: [
    { names: '-e --regexp', value: 'text' },
    { names: '-g --glob --iglob', value: glob },
    { names: '-f --file --ignore-file', value: 'read', stream: true, rule: listInFile },
    { names: '--pre', value: 'run', rule: startsProgram },
    { names: '--pre-glob', value: 'text', rule: startsProgram },
    { names: '--hostname-bin', value: 'run', rule: startsProgram },
    { names: '-z --search-zip', rule: startsProgram },
    { names: '-L --follow', rule: followsLinksInTree },
  ],
});

export const rg: Manual = {
  names: ['rg'],
  onlyReads: true,
  rules: [startsProgram],
  read(args, notes) {
    notes.raise(onlyReads);
    const words = parseOptions(args, rgTable);
    const state = new OptionState(words);
    let isPatternGiven = state.wasGiven('-e', '-f', '--files', '--type-list');
    let namesFile = false;
    for (const word of words) {
      if (word.kind !== 'operand') notes.option(word);
      else if (isPatternGiven) {
        notes.pathOrStream(word.text, 'read');
        namesFile = true;
      } else isPatternGiven = true;
    }
    if (!namesFile) notes.path('.', 'read');
  },
};

const fdTable = optionTable({
  abbreviations: false,
  flags: `-H --hidden -I --no-ignore --no-ignore-vcs --no-ignore-parent -u --unrestricted -s --case-sensitive -i --ignore-case
    -g --glob --regex -F --fixed-strings --and -a --absolute-path --relative-path -p --full-path -0 --print0 --prune -1 -q
    --quiet --show-errors --no-follow --no-global-ignore-file --one-file-system --xdev --strip-cwd-prefix -h --help -V --version`,
  values: `-d --max-depth --maxdepth --min-depth --exact-depth -t --type -e --extension -E --exclude -S --size --changed-within
    --changed-before --newer --older --change-newer-than --change-older-than -o --owner -j --threads -c --color --max-results
    --path-separator --batch-size --format --hyperlink`,
  rows: [
    { names: '-x --exec -X --exec-batch', value: 'text', rule: startsProgram },
    // Starts ls.
    { names: '-l --list-details', rule: startsProgram },
    { names: '-L --follow', rule: followsLinksInTree },
    { names: '--base-directory --search-path -C', value: 'read' },
    { names: '--ignore-file', value: 'read', rule: listInFile },
  ],
});

export const fd: Manual = {
  names: ['fd', 'fdfind'],
  onlyReads: true,
  rules: [],
  read(args, notes) {
    notes.raise(onlyReads);
    const [, ...places] = notes.options(args, fdTable);
    for (const { text } of places) notes.path(text, 'name');
    if (places.length === 0) notes.path('.', 'name');
  },
};

const reachesBeyond: CommandRule = {
  id: 'CMD-JQ-1',
  risk: 'HIGH',
  why: 'runs a jq filter that reads the environment or other files',
  matches: [
    "jq 'env' a.json",
    "jq '$ENV.HOME' a.json",
    "jq -n 'env.HOME'",
    'jq \'import "x" as x; .\' a.json',
    'jq \'include "x"; .\' a.json',
    'jq -L src . a.json',
  ],
  doesNotMatch: ["jq '.env' a.json", 'jq .scripts package.json', "jq -r '.a[] | .b' a.json", 'jq . a.json'],
};

const jqTable = optionTable({
  abbreviations: false,
  flags: `-r --raw-output --raw-output0 -j --join-output -a --ascii-output -C --color-output -M --monochrome-output -S
    --sort-keys -c --compact-output -s --slurp -n --null-input -R --raw-input -e --exit-status --tab --unbuffered --stream
    --stream-errors --seq --args --jsonargs -h --help -V --version --build-configuration`,
  values: '--indent',
  rows: [
    { names: '-f --from-file', value: 'text', rule: listInFile },
    { names: '-L --library-path', value: 'read', rule: reachesBeyond },
  ],
});

/** Options that take a name and a value; with two of them the value is a file. */
const NAMED_VALUE_OPTION = /^--(arg|argjson|slurpfile|rawfile|argfile)$/;

export const jq: Manual = {
  names: ['jq'],
  scriptFirst: true,
  rules: [reachesBeyond],
  read(args, notes) {
    notes.raise(onlyReads);
    const rest: string[] = [];
    for (let at = 0; at < args.length; at++) {
      const word = args[at] as string;
      if (!NAMED_VALUE_OPTION.test(word)) {
        rest.push(word);
        continue;
      }
      const value = args[at + 2];
      at += 2;
      if (!/^--arg(json)?$/.test(word) && value !== undefined) {
        if (word !== '--slurpfile') notes.raise(listInFile, word);
        notes.path(value, 'read');
      }
    }
    const words = parseOptions(rest, jqTable);
    for (const word of words) if (word.kind !== 'operand') notes.option(word);
    const operands = words.filter((word) => word.kind === 'operand').map(({ text }) => text);
    const state = new OptionState(words);
    // With -f, the filter is in the first file.
    const [filter, ...files] = state.wasGiven('-f') ? ['', ...operands] : operands;
    if (filter !== undefined && /(?<![.\w"])(env|import|include|get_search_list)\b|\$ENV|\$__/.test(filter))
      notes.raise(reachesBeyond, filter);
    const takesTexts = state.wasGiven('--args', '--jsonargs');
    for (const text of files) if (!takesTexts) notes.pathOrStream(text, 'read');
  },
};
