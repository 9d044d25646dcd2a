import type { CommandRule } from '../command/command-rule.ts';
import { optionTable } from './options.ts';
import { judgeOptions, type Program } from './program.ts';

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
      value: (list, judgement) => {
        for (const path of list.split(':')) if (path !== '') judgement.pathOrStream(path, 'read');
      },
    },
  ],
});

/** Operands are patterns, not paths. */
export const locate: Program = {
  names: ['locate'],
  rules: [looksEverywhere],
  judge(args, judgement) {
    judgement.raise(looksEverywhere);
    judgeOptions(args, options, judgement, 'reader');
  },
};
