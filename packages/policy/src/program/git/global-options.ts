import { optionTable } from '../options.ts';
import { otherRepository, runsProgram, setsConfiguration } from './rules.ts';

/** What may stand between `git` and the subcommand. */
export const globalOptions = optionTable({
  abbreviations: false,
  permutes: false,
  flags: `-v --version -h --help -P --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice
    --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --html-path --man-path --info-path`,
  values: '--list-cmds --attr-source',
  rows: [
    { names: '-C', value: 'read' },
    { names: '-c', value: 'text', rule: setsConfiguration },
    { names: '--config-env', value: 'text', rule: setsConfiguration },
    { names: '--exec-path', value: 'run', optional: true },
    { names: '-p --paginate', rule: runsProgram },
    { names: '--git-dir', value: 'read', rule: otherRepository },
    { names: '--work-tree', value: 'write', rule: otherRepository },
    { names: '--namespace --super-prefix', value: 'text', rule: otherRepository },
    { names: '--bare', rule: otherRepository },
  ],
});
