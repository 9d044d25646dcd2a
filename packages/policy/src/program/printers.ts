import type { Manual } from './notes.ts';
import { optionTable } from './options.ts';
import type { CommandRule } from './rules.ts';
import { onlyPrints } from './rules.ts';

/** Programs that print: the operands of echo, pwd and whoami are text or nothing, those of date a format. */

export const echo: Manual = {
  names: ['echo'],
  onlyReads: true,
  rules: [],
  read(_args, notes) {
    notes.raise(onlyPrints);
  },
};

const pwdOptions = optionTable({ flags: '-L --logical -P --physical --help --version' });
export const pwd: Manual = {
  names: ['pwd'],
  onlyReads: true,
  rules: [],
  read(args, notes) {
    notes.raise(onlyPrints);
    notes.options(args, pwdOptions);
  },
};

const whoamiOptions = optionTable({ flags: '--help --version' });
export const whoami: Manual = {
  names: ['whoami'],
  onlyReads: true,
  rules: [],
  read(args, notes) {
    notes.raise(onlyPrints);
    notes.options(args, whoamiOptions);
  },
};

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
  // -j (BSD: do not set) makes operands harmless there; GNU date does not start with it.
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
