import { type Approval, findTool, type Preview } from '@countersign/protocol';
import { styledLines } from './ansi-text.ts';
import { plainText } from './result-lines.ts';
import {
  approvalOfTrial,
  gitDataOf,
  type TrialFile,
  type TrialWords,
  trialOf,
  trialOutput,
  trialSummary,
  unlistedEffects,
  withoutDiff,
} from './trial-lines.ts';
import { type DiffLine, parseUnifiedDiff } from './unified-diff.ts';

/** One line of a preview. Its text may contain line feeds; each front end draws it in its own way. */
export interface ViewLine {
  /** Name of the fact. The empty string means that the line belongs to the labelled fact above. */
  readonly label?: string;
  /** Prefix of the text: the sign of a changed line, or the id of a commit. */
  readonly lead?: string;
  readonly text: string;
  readonly tone?: 'strong' | 'quiet' | 'caution' | 'danger' | 'hunk' | 'added' | 'removed' | 'listed';
}

type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];

/** The texts of a preview in one language. */
export interface PreviewWords extends Readonly<Record<LabelName, string>> {
  /** Left out if the card says elsewhere that the call uses the network. */
  readonly network?: string | undefined;
  readonly networkToNone: string;
  readonly networkToAny: string;
  networkTo(hosts: string): string;
  readonly operation: Readonly<Record<string, string>>;
  bytes(before: number | null, after: number | null): string;
  deletes(path: string, size: number): string;
  makesFolder(path: string): string;
  pushes(branch: string, remote: string): string;
  commits(count: number): string;
  customTool(server: string): string;
  unavailable(reason: string): string;
  readonly trial: TrialWords;
}

type LabelName =
  | (
      | 'runs'
      | 'unknownWord'
      | 'inFolder'
      | 'root'
      | 'executes'
      | 'noNetwork'
      | 'fetches'
      | 'repositories'
      | 'irreversible'
      | 'reversible'
      | 'output'
      | 'hooks'
      | 'noHooks'
      | 'message'
    )
  | ('emptyFile' | 'unsaved' | 'sameContent' | 'cut' | 'saysReadOnly' | 'saysDestructive' | 'itsProgram');

/** The lines of a preview (AP-7). `translate` is applied to the runner's own sentences. */
export function previewLines(
  preview: Preview,
  words: PreviewWords,
  translate: (text: string) => string,
): ViewLine[] {
  const files = 'files' in preview ? preview.files : [];
  return [
    ...factLines(preview, words, translate),
    ...files.flatMap((file, i) => [
      ...(i > 0 || preview.kind === 'commit' ? [blank] : []),
      ...fileLines(file, words),
    ]),
    ...(preview.kind === 'command' && preview.trial
      ? [blank, ...trialLines(preview, words, translate), ...trialEffectLines(preview, words)]
      : []),
  ];
}

/** The lines of a preview without its diffs and output, for a front end that draws diffs in its own way. */
export function factLines(
  preview: Preview,
  words: PreviewWords,
  translate: (text: string) => string,
): ViewLine[] {
  switch (preview.kind) {
    case 'diff':
      return [];
    case 'delete':
      return [
        { text: words.deletes(preview.path, preview.size), tone: 'danger' },
        ...(preview.head === ''
          ? [{ text: words.emptyFile, tone: 'quiet' as const }]
          : linesOf(preview.head).map((text) => ({ lead: '- ', text, tone: 'removed' as const }))),
      ];
    case 'directory':
      return [{ text: words.makesFolder(preview.path) }];
    case 'command':
      return [
        ...preview.commands.map((command) => ({
          label: words.runs,
          text: command.map((word) => shellWord(word, words)).join(' '),
          tone: 'strong' as const,
        })),
        { label: words.inFolder, text: isRoot(preview.cwd) ? words.root : preview.cwd },
        ...(preview.scripts.length > 0 ? [{ label: words.executes, text: preview.scripts.join('  ') }] : []),
        ...(preview.fetches
          ? [
              {
                label: words.fetches,
                text: [preview.fetches.url, ...preview.fetches.refs].join('  '),
                tone: 'strong' as const,
              },
            ]
          : []),
        ...(preview.repositories
          ? [{ label: words.repositories, text: preview.repositories.join('  '), tone: 'strong' as const }]
          : []),
        ...networkLines(preview, words),
        preview.reversible
          ? { label: '', text: words.reversible }
          : { label: '', text: words.irreversible, tone: 'caution' },
      ];
    case 'commit':
      return [{ label: words.message, text: preview.message }, ...hookLines(preview.hooks, words)];
    case 'push':
      return [
        { text: words.pushes(preview.branch, preview.remote), tone: 'strong' },
        { text: preview.url },
        ...hookLines(preview.hooks, words),
        { text: words.commits(preview.commits.length), tone: 'quiet' },
        ...preview.commits.map(({ id, subject, author }) => ({
          lead: `${id.slice(0, 8)}  `,
          text: `${subject}  (${author})`,
          tone: 'listed' as const,
        })),
      ];
    case 'custom':
      return customLines(preview, words);
    case 'summary':
      return [{ text: preview.summary }];
    case 'unavailable':
      return [{ text: words.unavailable(translate(preview.reason)), tone: 'caution' }];
  }
}

/** What came of a trial (RN-13), without its diffs and output, and what approving does now. */
export function trialLines(
  preview: Preview,
  words: PreviewWords,
  translate: (text: string) => string,
): ViewLine[] {
  const trial = preview.kind === 'command' ? preview.trial : undefined;
  if (trial === undefined) return [];
  if ('problem' in trial) return [{ text: words.trial.problem(translate(trial.problem)), tone: 'caution' }];
  const { ended, exit_code, hosts, withheld, left_out } = trial;
  const list = (label: string, items: readonly string[], why: string): ViewLine[] =>
    items.length === 0
      ? []
      : [
          { label, text: items.join('  '), tone: 'caution' },
          { label: '', text: why },
        ];
  return [
    ...(ended === 'exit'
      ? [
          { text: trialSummary(trial, words.trial), tone: exit_code === 0 ? 'strong' : 'caution' } as const,
          { text: approvalOfTrial(trial) === 'land' ? words.trial.lands : words.trial.landsNothing },
        ]
      : [{ text: words.trial.ended[ended], tone: 'caution' as const }]),
    ...list(words.trial.withheld, withheld, words.trial.withheldWhy),
    ...list(words.trial.leftOut, left_out, words.trial.leftOutWhy),
    ...list(words.trial.hosts, hosts, words.trial.hostsWhy),
  ];
}

/** The files that a tried command changed, as the runner sent them: deletions first; then what it printed. */
function trialEffectLines(preview: Preview, words: PreviewWords): ViewLine[] {
  const trial = trialOf({ preview });
  if (!trial) return [];
  const output = trialOutput(trial);
  const { inDeletedFolders, others } = unlistedEffects(trial);
  const [files, gitData] = gitDataOf(trial.files);
  return [
    ...files.flatMap((file) => [blank, ...trialFileLines(file, words)]),
    ...(gitData.length > 0 ? [blank, { text: words.trial.gitData(gitData.length) }] : []),
    ...(inDeletedFolders > 0
      ? [blank, { text: words.trial.inDeletedFolders(inDeletedFolders), tone: 'danger' as const }]
      : []),
    ...(others > 0 ? [blank, { text: words.trial.more(others), tone: 'caution' as const }] : []),
    ...(output === ''
      ? []
      : [
          blank,
          { text: words.output, tone: 'quiet' as const },
          ...styledLines(output).map((line) => ({ lead: '  ', text: plainText(line) })),
        ]),
  ];
}

function trialFileLines(file: TrialFile, words: PreviewWords): ViewLine[] {
  const { path, change, diff, truncated } = file;
  const instead = diff === undefined ? withoutDiff(file, words.trial) : undefined;
  const facts = [words.operation[change] ?? change, ...(instead === undefined ? [] : [instead])];
  return [
    { text: path, tone: change === 'deleted' ? 'danger' : 'strong' },
    { text: facts.join(' · '), tone: 'quiet' },
    ...parseUnifiedDiff(diff ?? '').map(diffLine),
    ...(truncated ? [{ text: words.cut, tone: 'caution' as const }] : []),
  ];
}

/** Only `runs` and `network` are facts; the rest is what the tool claims about itself. */
function customLines(preview: Extract<Preview, { kind: 'custom' }>, words: PreviewWords): ViewLine[] {
  const { server, tool, summary, runs, network, hints = [] } = preview;
  const name = words.customTool(server);
  return [
    { text: tool === undefined ? name : `${name}: ${tool}`, tone: 'quiet' },
    { text: summary },
    ...(runs === undefined ? [] : [{ label: words.runs, text: runs }]),
    ...(network === undefined ? [] : networkLines(preview, words)),
    ...(hints.includes('read_only') ? [{ label: '', text: words.saysReadOnly }] : []),
    ...(hints.includes('destructive')
      ? [{ label: '', text: words.saysDestructive, tone: 'caution' as const }]
      : []),
    ...(runs === undefined ? [] : [{ label: '', text: words.itsProgram }]),
  ];
}

function networkLines(
  preview: Extract<Preview, { kind: 'command' | 'custom' }>,
  words: PreviewWords,
): ViewLine[] {
  if (!preview.network) return [{ label: '', text: words.noNetwork }];
  const { network } = words;
  return network === undefined
    ? []
    : [{ label: '', text: networkText(preview, { ...words, network }), tone: 'caution' }];
}

type NetworkWords = Pick<PreviewWords, 'networkTo' | 'networkToNone' | 'networkToAny'> & {
  readonly network: string;
};

/** Says which hosts a call with network access may reach (RN-5), if the preview names them. */
export function networkText(preview: Preview | null, words: NetworkWords): string {
  if (preview?.kind !== 'command') return words.network;
  if (preview.hosts === undefined) return words.networkToAny;
  return preview.hosts.length === 0 ? words.networkToNone : words.networkTo(preview.hosts.join(', '));
}

const hookLines = (hooks: readonly string[], words: PreviewWords): ViewLine[] =>
  hooks.length === 0
    ? [{ label: '', text: words.noHooks, tone: 'quiet' }]
    : [{ label: words.hooks, text: hooks.join('  '), tone: 'caution' }];

function fileLines(file: FileDiff, words: PreviewWords): ViewLine[] {
  const facts = [
    words.operation[file.operation] ?? file.operation,
    words.bytes(file.size_before, file.size_after),
    ...(file.unsaved === true ? [words.unsaved] : []),
  ];
  return [
    { text: file.path, tone: 'strong' },
    { text: facts.join(' · '), tone: 'quiet' },
    ...(file.diff === ''
      ? [{ text: words.sameContent, tone: 'quiet' as const }]
      : parseUnifiedDiff(file.diff).map(diffLine)),
    ...(file.truncated ? [{ text: words.cut, tone: 'caution' as const }] : []),
  ];
}

function diffLine({ kind, text }: DiffLine): ViewLine {
  if (kind === 'hunk') return { text, tone: kind };
  if (kind === 'same') return { lead: '  ', text };
  // A remark about the whole file, such as git's "Binary files … differ", has no sign.
  if (kind === 'note') return { lead: '  ', text, tone: 'quiet' };
  return { lead: kind === 'added' ? '+ ' : '- ', text, tone: kind };
}

/** A word of a command, quoted for a shell if needed. */
function shellWord(word: string | null, { unknownWord }: PreviewWords): string {
  if (word === null) return unknownWord;
  return word !== '' && /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

const isRoot = (folder: string): boolean => folder === '' || folder === '.';

const linesOf = (text: string): string[] => (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');

const blank: ViewLine = { text: '' };

export type CalledTool = Pick<Approval, 'tool_name' | 'tool_params'>;

/** The shell line as written. The preview's list of commands omits redirections, pipes and separators (AP-7). */
export function shellLineOf({ tool_name, tool_params }: CalledTool): string | undefined {
  const { command } = tool_params;
  return findTool(tool_name)?.category === 'shell' && typeof command === 'string' ? command : undefined;
}

/**
 * Every parameter as text. The caller of a custom tool also chooses parameter names, so unusual names are quoted: a
 * name with a line feed could imitate a line of the card.
 */
export const parameterLines = ({
  tool_params,
}: CalledTool): { isPlain: boolean; name: string; text: string }[] =>
  Object.entries(tool_params).map(([name, value]) => {
    const isPlain = /^[\w.$-]{1,40}$/.test(name);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return { isPlain, name: isPlain ? name : JSON.stringify(name), text };
  });
