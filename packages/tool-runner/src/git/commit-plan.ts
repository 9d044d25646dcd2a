import { closeSync, constants, existsSync, fstatSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, type ToolParams } from '@countersign/protocol';
import { versionOf } from '../files/file-snapshot.ts';
import { readPersonName } from '../isolation/command-environment.ts';
import { openInside } from '../open-inside.ts';
import { fileFailure } from '../real-disk.ts';
import { type ConfigEntry, setting, writeConfig } from './config-text.ts';
import { gitCannot } from './git-failure.ts';
import type { GitRepository } from './git-repository.ts';
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

/** All that decides what a commit will be: the preview draws it, the digest covers it, the executor follows it. */
export interface CommitPlan {
  readonly own: readonly ConfigEntry[];
  readonly head: string | null;
  /** The branch that moves; null on a detached head. */
  readonly branch: string | null;
  readonly files: readonly NamedFile[];
  /** Those that git would run, as paths. */
  readonly hooks: readonly string[];
  /** Who commits, and where the hooks are. */
  readonly settings: readonly ConfigEntry[];
  /** Goes into the digest of the approval. */
  readonly base: readonly string[];
}

/**
 * Understands a commit of exactly these files as they are in the work tree, whether they are new, changed or gone.
 * Refused is what a partial commit cannot do: a merge that is not finished, a folder, a conflict; and a file that a
 * filter of the repository would rewrite (LFS), because no filter runs here and its raw content would be committed.
 */
export async function planCommit(
  repository: GitRepository,
  params: ToolParams<'git_commit'>,
  signal?: AbortSignal,
): Promise<CommitPlan> {
  const { root, limits, home } = repository.workspace;
  const own = await repository.open(signal);
  for (const state of ['MERGE_HEAD', 'CHERRY_PICK_HEAD']) {
    if (existsSync(join(root, '.git', state))) {
      throw gitCannot(
        'a merge or cherry-pick is not finished, and only a part cannot be committed meanwhile',
      );
    }
  }
  const names = [...new Set(params.files.map((file) => operandForGit(root, file)))];
  if (names.length > limits.entries || names.join(' ').length > limits.commandCharacters) {
    throw gitCannot(`${names.length} files are too many for one commit; make several`);
  }

  const { head, branch } = await readHead(repository, own, signal);
  const [committed, staged] = await Promise.all([
    head === null ? new Map<string, Stored>() : committedFiles(repository, own, head, names, signal),
    stagedFiles(repository, own, names, signal),
    refuseFilters(repository, own, names, signal),
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
  return { own, head, branch, files, hooks, settings, base };
}

const SUBMODULE = '160000';
const FOLDER = '040000';

/** The current commit and branch; a branch without a commit yet has a name all the same. */
export async function readHead(
  repository: GitRepository,
  own: readonly ConfigEntry[],
  signal?: AbortSignal,
): Promise<{ readonly head: string | null; readonly branch: string | null }> {
  const [commit, ref] = await Promise.all([
    repository.run(own, ['rev-parse', '--verify', '--quiet', 'HEAD'], { signal }),
    repository.run(own, ['symbolic-ref', '--quiet', 'HEAD'], { signal }),
  ]);
  const name = ref.stdout.toString('utf8').trimEnd();
  return {
    head: commit.exitCode === 0 ? commit.stdout.toString('latin1').trim() : null,
    branch: name.startsWith('refs/heads/') ? name.slice('refs/heads/'.length) : null,
  };
}

async function committedFiles(
  repository: GitRepository,
  own: readonly ConfigEntry[],
  head: string,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, Stored>> {
  const { stdout } = await repository.ask(own, ['ls-tree', '-z', head, '--', ...names], { signal });
  const found = new Map<string, Stored>();
  for (const { fields, path } of recordsOf(stdout)) {
    const [mode = '', , id = ''] = fields;
    if (mode === FOLDER) throw new CountersignError('IS_A_DIRECTORY', { path });
    found.set(path, { mode, id });
  }
  return found;
}

async function stagedFiles(
  repository: GitRepository,
  own: readonly ConfigEntry[],
  names: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, Stored>> {
  const { stdout } = await repository.ask(own, ['ls-files', '-z', '--stage', '--', ...names], { signal });
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

/** `fields TAB path NUL` */
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

async function refuseFilters(
  repository: GitRepository,
  own: readonly ConfigEntry[],
  names: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const { stdout } = await repository.ask(own, ['check-attr', '-z', 'filter', '--', ...names], { signal });
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

const latin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
