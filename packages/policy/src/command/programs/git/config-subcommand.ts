import { names, revisions } from './operands.ts';
import { machineSettings, readsFile, runsProgram, setsConfiguration } from './rules.ts';
import { gitTable } from './shared-options.ts';
import type { GitSubcommand } from './subcommand.ts';

/** `git config`: reading a key is everyday; any change can make git start programs later. */
export const config: GitSubcommand = {
  options: gitTable({
    flags: `--local --worktree --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool -l --list --fixed-value --bool
      --int --bool-or-int --bool-or-str --path --expiry-date -z --null --name-only --includes --show-origin --show-scope --all
      --regexp --show-names`,
    values: '--type -t --default --value --url --comment',
    rows: [
      { names: '--global --system', rule: machineSettings },
      {
        names: '-f --file',
        value: (file, judgement) => {
          judgement.pathOrStream(file, 'read');
          // It is also where a setting is written to.
          judgement.refuseBinary(file);
        },
        rule: readsFile,
      },
      {
        names: '--blob',
        value: (text, judgement) => revisions([{ kind: 'operand', text, afterDashes: false }], judgement),
        rule: readsFile,
      },
      {
        names: '--replace-all --add --unset --unset-all --rename-section --remove-section --append',
        rule: setsConfiguration,
      },
      { names: '-e --edit', rule: runsProgram },
    ],
  }),
  operands: names,
  also(seen, operands, judgement) {
    const isReading = [
      '--get',
      '--get-all',
      '--get-regexp',
      '--get-urlmatch',
      '--get-color',
      '--get-colorbool',
      '--list',
      '-l',
    ].some((name) => seen.has(name));
    const [first = '', ...rest] = operands.map(({ text }) => text);
    if (seen.has('--edit')) judgement.raise(setsConfiguration, '--edit');
    if (isReading || first === 'get' || first === 'list') return;
    const isWriting = /^(set|unset|rename-section|remove-section|edit)$/.test(first) || rest.length > 0;
    if (isWriting) judgement.raise(setsConfiguration, [first, rest[0]].join(' ').trim());
  },
};
