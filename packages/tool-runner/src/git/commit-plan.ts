import { closeSync, constants, existsSync, fstatSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, type ToolParams } from '@countersign/protocol';
import { versionOf } from '../files/file-snapshot.ts';
import { readPersonName } from '../isolation/command-environment.ts';
import { openInside } from '../open-inside.ts';
import { fileFailure } from '../real-disk.ts';
import { type ConfigEntry, latin1, setting, writeConfig } from './config-text.ts';
import { gitCannot } from './git-failure.ts';
import type { GitRepository, OpenedRepository } from './git-repository.ts';
import { operandForGit } from './git-tools.ts';
import { activeHooks, commitHooks, hookVersions } from './hooks.ts';
import { hooksFolder, lastValue } from './repository-settings.ts';

/** A file's entry in a tree or in the index. */
interface Stored {
  readonly mode: string;
  readonly id: string;
}

/** The file in the work tree. */
type Working =
  | { readonly kind: 'gone' }
  | { readonly kind: 'submodule' }
  | { readonly kind: 'content'; readonly bytes: Buffer; readonly mode: string };

export interface NamedFile {
  readonly path: string;
  readonly committed: Stored | undefined;
  readonly staged: Stored | undefined;
  readonly working: Working;
}

/** Everything that determines a commit: the preview shows it, the digest covers it, the executor follows it. */
export interface CommitPlan {
  readonly git: OpenedRepository;
  readonly head: string | null;
  /** The branch that moves; null on a detached head. */
  readonly branch: string | null;
  readonly files: readonly NamedFile[];
  /** Paths of the hooks that git would run. */
  readonly hooks: readonly string[];
  /** The committer and the hooks folder. */
  readonly settings: readonly ConfigEntry[];
  /** Goes into the digest of the approval. */
  readonly base: readonly string[];
}

/**
 * Plans a commit of exactly these files as they are in the work tree: new, changed or deleted. Throws for what a partial
 * commit cannot do (an unfinished merge, a folder, a conflict), and for a file that a filter of the repository would
 * rewrite (LFS): no filter runs here, so its raw content would be committed.
 */
export async function planCommit(
  repository: GitRepository,
  params: ToolParams<'git_commit'>,
  signal?: AbortSignal,
): Promise<CommitPlan> {
  const { root, limits, home } = repository.workspace;
  const git = await repository.open(signal);
  const { own } = git;
  if (['MERGE_HEAD', 'CHERRY_PICK_HEAD'].some((state) => existsSync(join(root, '.git', state))))
    throw gitCannot('a merge or cherry-pick is not finished, and only a part cannot be committed meanwhile');
  const names = [...new Set(params.files.map((file) => operandForGit(root, file)))];
  if (names.length > limits.entries || names.join(' ').length > limits.commandCharacters) {
    throw gitCannot(`${names.length} files are too many for one commit; make several`);
  }

  const { head, branch } = await readHead(git);
  const [committed, staged] = await Promise.all([
    head === null ? new Map<string, Stored>() : committedFiles(git, head, names),
    stagedFiles(git, names),
    refuseFilters(git, names),
  ]);
  const files = names.map((path) => {
    const file = { path, committed: committed.get(path), staged: staged.get(path) };
    const working = readWorking(root, path, file.staged?.mode === SUBMODULE, limits.fileBytes);
    const isKnown = file.committed ?? file.staged;
    if (working.kind === 'gone' && !isKnown) throw new CountersignError('FILE_NOT_FOUND', { path });
    return { ...file, working };
  });

  const folder = hooksFolder(root, own);
  const hooks = folder === undefined ? [] : activeHooks(root, folder, commitHooks);
  const person = readPersonName(home);
  const settings = [
    setting('user.name', lastValue(own, 'user.name') ?? latin1(person.name ?? '')),
    setting('user.email', lastValue(own, 'user.email') ?? latin1(person.email ?? '')),
    ...(folder === undefined ? [] : [setting('core.hookspath', latin1(join(root, folder)))]),
  ].filter((entry) => entry.value !== '');
  const base = [
    `head ${head ?? 'unborn'} ${branch ?? 'detached'}`,
    ...files.map(describeVersions),
    ...hooks.map((hook) => `runs ${hook}`),
    ...(folder === undefined ? [] : hookVersions(root, folder, hooks)),
    `settings ${versionOf(writeConfig([...own, ...settings]))}`,
  ];
  return { git, head, branch, files, hooks, settings, base };
}

const SUBMODULE = '160000';
const FOLDER = '040000';

/** The current commit and branch. Before the first commit there is a branch, but `head` is null. */
export async function readHead(
  git: OpenedRepository,
): Promise<{ readonly head: string | null; readonly branch: string | null }> {
  const [commit, ref] = await Promise.all([
    git.run(['rev-parse', '--verify', '--quiet', 'HEAD']),
    git.run(['symbolic-ref', '--quiet', 'HEAD']),
  ]);
  const name = ref.stdout.toString('utf8').trimEnd();
  return {
    head: commit.exitCode === 0 ? commit.stdout.toString('latin1').trim() : null,
    branch: name.startsWith('refs/heads/') ? name.slice('refs/heads/'.length) : null,
  };
}

async function committedFiles(
  git: OpenedRepository,
  head: string,
  names: readonly string[],
): Promise<Map<string, Stored>> {
  const { stdout } = await git.ask(['ls-tree', '-z', head, '--', ...names]);
  const found = new Map<string, Stored>();
  for (const { fields, path } of recordsOf(stdout)) {
    const [mode = '', , id = ''] = fields;
    if (mode === FOLDER) throw new CountersignError('IS_A_DIRECTORY', { path });
    found.set(path, { mode, id });
  }
  return found;
}

async function stagedFiles(git: OpenedRepository, names: readonly string[]): Promise<Map<string, Stored>> {
  const { stdout } = await git.ask(['ls-files', '-z', '--stage', '--', ...names]);
  const found = new Map<string, Stored>();
  for (const { fields, path } of recordsOf(stdout)) {
    const [mode = '', id = '', stage] = fields;
    const above = names.find((name) => name === '.' || path.startsWith(`${name}/`));
    if (above !== undefined) throw new CountersignError('IS_A_DIRECTORY', { path: above });
    if (stage !== '0') throw gitCannot(`${path} has conflicts that are not resolved`);
    found.set(path, { mode, id });
  }
  return found;
}

/** Records of the form `fields TAB path NUL`. */
function recordsOf(output: Buffer): { fields: string[]; path: string }[] {
  return output
    .toString('utf8')
    .split('\0')
    .filter((record) => record !== '')
    .map((record) => {
      const tab = record.indexOf('\t');
      return { fields: record.slice(0, tab).split(' '), path: record.slice(tab + 1) };
    });
}

async function refuseFilters(git: OpenedRepository, names: readonly string[]): Promise<void> {
  const { stdout } = await git.ask(['check-attr', '-z', 'filter', '--', ...names]);
  const words = stdout.toString('utf8').split('\0');
  for (let i = 0; i + 2 < words.length; i += 3) {
    const [path = '', , filter = ''] = words.slice(i, i + 3);
    if (['unspecified', 'unset', 'set', ''].includes(filter)) continue;
    throw gitCannot(
      `${path} passes through the filter "${filter}", which does not run here; the person must commit it`,
    );
  }
}

function readWorking(root: string, path: string, isSubmodule: boolean, maxBytes: number): Working {
  const stats = lstatSync(join(root, path), { throwIfNoEntry: false });
  if (!stats) return { kind: 'gone' };
  if (stats.isDirectory()) {
    if (isSubmodule) return { kind: 'submodule' };
    throw new CountersignError('IS_A_DIRECTORY', { path });
  }
  if (stats.isSymbolicLink()) {
    return { kind: 'content', bytes: readlinkSync(join(root, path), 'buffer'), mode: '120000' };
  }
  let descriptor: number;
  try {
    descriptor = openInside(root, path, constants.O_RDONLY);
  } catch (error) {
    throw fileFailure(error, path, 'READ_FAILED');
  }
  try {
    const { size, mode } = fstatSync(descriptor);
    if (size > maxBytes) throw new CountersignError('FILE_TOO_LARGE', { path, size, limit: maxBytes });
    return { kind: 'content', bytes: readFileSync(descriptor), mode: mode & 0o100 ? '100755' : '100644' };
  } finally {
    closeSync(descriptor);
  }
}

function describeVersions({ path, committed, staged, working }: NamedFile): string {
  const stored = (file: Stored | undefined): string => (file ? `${file.mode} ${file.id}` : 'none');
  const now = working.kind === 'content' ? `${working.mode} ${versionOf(working.bytes)}` : working.kind;
  return `file ${JSON.stringify(path)} committed ${stored(committed)} staged ${stored(staged)} working ${now}`;
}
