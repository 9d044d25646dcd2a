import type { Manual } from './notes.ts';
import { optionTable } from './options.ts';
import type { CommandRule } from './rules.ts';

const looksEverywhere: CommandRule = {
  id: 'CMD-LOCATE-1',
  risk: 'MEDIUM',
  why: 'lists file names of the whole machine, not only of the workspace',
  matches: ['locate tsconfig.json', 'locate -c x', 'locate --version'],
  doesNotMatch: ['find . -name tsconfig.json', 'echo locate'],
};

const options = optionTable({
  flags: `-A --all -b --basename -c --count -e --existing -E --non-existing -L --follow -h --help -i --ignore-case
    -p --ignore-spaces -m --mmap -P --nofollow -H -N --literal -0 --null -S --statistics -q --quiet -r --regexp --regex
    -s --stdio -V --version -w --wholename -t --transliterate --max-database-age --debug`,
  values: '-l -n --limit --regextype -o --output-zero',
  rows: [
    {
      names: '-d --database',
      // A list like PATH; an empty part is the machine's own database.
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
    notes.options(args, options);
  },
};
