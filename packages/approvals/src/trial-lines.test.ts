import type { Preview } from '@countersign/protocol';
import { pageWords } from '@countersign/words/page';
import { describe, expect, it } from 'vitest';
import { previewLines } from './preview-lines.ts';
import {
  approvalOfTrial,
  gitDataOf,
  mayBeTried,
  type TrialOutcome,
  trialSummary,
  unlistedEffects,
} from './trial-lines.ts';

type CommandPreview = Extract<Preview, { kind: 'command' }>;

const { preview: words, said } = pageWords.en;
const tried: TrialOutcome = {
  ended: 'exit',
  exit_code: 0,
  duration_ms: 1_840,
  stdout: 'one\n',
  stderr: 'two\n',
  files: [
    { path: 'old.json', change: 'deleted', size: 512 },
    { path: 'a.ts', change: 'modified', size: 6, diff: '--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-old\n+new\n' },
    { path: 'run.sh', change: 'mode', size: 40 },
    { path: 'dist', change: 'created' },
    { path: '.git/index', change: 'modified', size: 9 },
  ],
  counts: { created: 3, modified: 2, deleted: 1, mode: 1 },
  withheld: ['.vscode/settings.json'],
  left_out: ['pipe'],
  hosts: ['registry.example'],
};
const noChange: Partial<TrialOutcome> = {
  files: [],
  counts: { created: 0, modified: 0, deleted: 0, mode: 0 },
  withheld: [],
  left_out: [],
  hosts: [],
};
const command = (trial?: CommandPreview['trial']): CommandPreview => ({
  kind: 'command',
  commands: [['make']],
  cwd: '',
  network: false,
  reversible: true,
  scripts: [],
  ...(trial && { trial }),
});
const linesOf = (trial: CommandPreview['trial']) =>
  previewLines(command(trial), words, said)
    .map(({ label, lead = '', text }) => `${label === undefined ? '' : `${label}| `}${lead}${text}`)
    .slice(5);

describe('[RN-13] what a card says of a trial', () => {
  it("[VA-3] folds git's own data away, never what decides which programs git runs", () => {
    const pathsOf = (paths: readonly string[]) =>
      gitDataOf(paths.map((path) => ({ path, change: 'modified' }))).map((files) =>
        files.map(({ path }) => path),
      );
    const settings = [
      '.git/config',
      'sub/.git/config.worktree',
      '.git/modules/a/config',
      '.git/hooks/pre-commit',
    ];
    const others = ['.git', '.git/info/attributes', '.git/commondir', 'src/a.ts'];
    const data = ['.git/index', '.git/objects/ab/cd', '.git/hooks/pre-commit.sample', '.git/HEAD'];
    expect(pathsOf([...settings, ...others, ...data])).toEqual([[...settings, ...others], data]);
  });

  it('has the outcome at a glance, then every effect in the order of the runner, then the output', () => {
    expect(linesOf(tried)).toEqual([
      "1 changed, 3 created, 1 deleted, 1 with other permissions · git's own data: 1 entry · exit 0 · 1.8 s",
      words.trial.lands,
      'Withheld| .vscode/settings.json',
      `| ${words.trial.withheldWhy}`,
      'Left out| pipe',
      `| ${words.trial.leftOutWhy}`,
      'Asked for| registry.example',
      `| ${words.trial.hostsWhy}`,
      '',
      'old.json',
      'deleted · binary or large, 512 B',
      '',
      'a.ts',
      'changed',
      '@@ -1 +1 @@',
      '- old',
      '+ new',
      '',
      'run.sh',
      'permissions changed',
      '',
      'dist',
      'new file · folder or link',
      '',
      "git's own data: 1 entry",
      '',
      '2 more changes are not listed here.',
      '',
      'Output',
      '  one',
      '  two',
    ]);
  });

  it('says that nothing would change, and what approving does then', () => {
    const trial = { ...tried, ...noChange, exit_code: 1, stdout: '', stderr: '' };
    expect(linesOf(trial)).toEqual(['Nothing would change · exit 1 · 1.8 s', words.trial.landsNothing]);
    expect(approvalOfTrial(trial)).toBe('nothing');
  });

  it.each(['signal', 'timeout', 'limit'] as const)(
    'says that approving runs the command after %s',
    (ended) => {
      const trial = { ...tried, ...noChange, ended, exit_code: null, stdout: '', stderr: '' };
      expect(linesOf(trial)).toEqual([words.trial.ended[ended]]);
      expect(approvalOfTrial(trial)).toBe('run');
    },
  );

  it('says why it could not be tried, in the language of the person', () => {
    expect(linesOf({ problem: 'the disk is full' })).toEqual(['It could not be tried: the disk is full']);
  });

  it('rounds long times and writes them as the language does', () => {
    const summary = trialSummary({ ...tried, ...noChange, duration_ms: 29_600 }, pageWords.ru.preview.trial);
    expect(summary).toBe('Ничего не изменится · код выхода 0 · 30 с');
  });
});

it.each([
  [true, 'execute_command', command(), false],
  [true, 'shell_exec', command(), false],
  [false, 'shell_background', command(), false],
  [false, 'reach_host', command(), false],
  [false, 'write_file', { kind: 'diff', files: [] }, false],
  [false, 'shell_exec', null, false],
  [false, 'shell_exec', command(), true],
  [false, 'shell_exec', { ...command(), network: true }, false],
  [false, 'shell_exec', command({ problem: 'no' }), false],
] as const)('[RN-13] offers a trial: %s for %s', (isOffered, tool_name, preview, network) => {
  expect(mayBeTried({ tool_name, network, preview: preview as Preview | null })).toBe(isOffered);
});

it.each([
  [{ created: 2, modified: 0, deleted: 5, mode: 0 }, ['deleted', 'created', 'created'], 4, 0],
  [{ created: 9, modified: 0, deleted: 1, mode: 0 }, ['deleted', 'created'], 0, 8],
  [{ created: 9, modified: 0, deleted: 5, mode: 0 }, ['deleted', 'deleted'], 0, 12],
  [{ created: 0, modified: 0, deleted: 5, mode: 0 }, ['deleted'], 4, 0],
] as const)('counts what %o has beside %o', (counts, changes, inDeletedFolders, others) => {
  const files = changes.map((change, index) => ({ path: `${index}`, change }));
  expect(unlistedEffects({ ...tried, counts, files })).toEqual({ inDeletedFolders, others });
});
