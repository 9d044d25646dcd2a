import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeVisible, type ToolParams, type ToolSuccess } from '@countersign/protocol';
import { fileDiff, LINK_MODE } from '../preview/file-diff.ts';
import { digestOfCall, visibleName } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';
import { type CommitPlan, type NamedFile, planCommit } from './commit-plan.ts';
import { parseDiff } from './diff-output.ts';
import { gitFailed } from './git-failure.ts';
import { type Commit, commitFormat, parseLog } from './git-log.ts';
import type { GitOptions, GitRepository, OpenedRepository } from './git-repository.ts';
import { hookEnvironment, withHookChanges, writingOptions } from './git-tools.ts';

/**
 * `git commit --only`: commits the named files as they are in the work tree; other staged files stay staged. New files are
 * added with --intent-to-add first, and removed from the index again if the commit fails.
 */
export const gitCommit: ToolModule<'git_commit'> = {
  /** The listed hooks run once the commit is approved: in isolation, with the workspace writable, without network. */
  async look(call, decision, repository) {
    const { params } = call;
    const plan = await planCommit(repository, params);
    const before = await committedContents(repository, plan);
    const submodules = await submoduleChanges(plan);
    const files = plan.files.map((file) => {
      const pointer = submodules.get(file.path);
      const drawn = drawFile(file, file.committed && before.get(file.committed.id));
      return pointer === undefined ? drawn : { ...drawn, diff: pointer, truncated: false };
    });
    const base = [...plan.base, ...[...submodules].map(([path, diff]) => `submodule ${path} ${diff}`)];
    const hooks = plan.hooks.map(visibleName);
    return {
      digest: digestOfCall(call, decision, repository.workspace, { base }),
      draw: () => ({ kind: 'commit', message: makeVisible(params.message), files, hooks }),
    };
  },
  async execute({ params }, context, repository) {
    const plan = await planCommit(repository, params, context.signal);
    const writing = writingOptions(repository, context);
    const fresh = plan.files.filter((file) => !file.staged && !file.committed).map((file) => file.path);
    // For the reflog of a first commit: git cannot create this folder through the link in GIT_COMMON_DIR.
    mkdirSync(join(repository.workspace.root, '.git/logs'), { recursive: true });
    const { value, changes } = await withHookChanges(repository, plan, context, async () => {
      if (fresh.length > 0) await plan.git.ask(['add', '--intent-to-add', '--', ...fresh], writing);
      await makeCommit(plan, params, writing, fresh);
      return lastCommit(repository, plan);
    });
    const { commit, committed } = value;
    const others = (changes.changed_files ?? []).filter(
      ({ path }) => !committed.some((file) => file.path === path),
    );
    return { success: true, commit, ...changes, changed_files: [...committed, ...others] };
  },
};

async function makeCommit(
  { git, files, settings }: CommitPlan,
  { message }: ToolParams<'git_commit'>,
  writing: GitOptions,
  fresh: readonly string[],
): Promise<void> {
  const args = ['commit', '--only', '--quiet', '--no-status', '--no-gpg-sign', '--cleanup=whitespace'];
  const paths = files.map(({ path }) => `:(top,literal)${path}`);
  try {
    const { exitCode, stdout, stderr } = await git.run([...args, '--file=-', '--', ...paths], {
      ...writing,
      settings,
      environment: hookEnvironment,
      input: Buffer.from(message, 'utf8'),
    });
    if (exitCode !== 0) throw gitFailed(stderr + stdout.toString('utf8'), exitCode);
  } catch (error) {
    await removeFromIndex(git, fresh);
    throw error;
  }
}

/** Ignores cancellation: the index is always restored. */
async function removeFromIndex(git: OpenedRepository, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await git.run(['update-index', '--force-remove', '--', ...names], {
    signal: undefined,
    confinement: { workspace: 'write', writableGit: 'data' },
    environment: { GIT_OPTIONAL_LOCKS: '1' },
  });
}

/** Ignores cancellation: the commit is always reported. */
async function lastCommit(
  repository: GitRepository,
  { git }: CommitPlan,
): Promise<{ commit: Commit; committed: ToolSuccess<'git_commit'>['changed_files'] }> {
  const { stdout } = await git.ask(
    ['log', '-1', '-z', `--format=${commitFormat}`, '--no-show-signature', '--encoding=UTF-8'],
    { signal: undefined },
  );
  const commit = parseLog(stdout)[0] as Commit;
  const changes = await git.ask(
    ['diff-tree', '-r', '--root', '--no-commit-id', '--no-renames', '--raw', '--no-ext-diff', commit.id],
    { signal: undefined },
  );
  const { entries } = repository.workspace.limits;
  const { files } = parseDiff(changes.stdout, { entries, cut: changes.cut });
  const operations = { added: 'created', deleted: 'deleted' } as const;
  return {
    commit,
    committed: files.map(({ path, state }) => ({
      path,
      operation: operations[state as keyof typeof operations] ?? 'modified',
    })),
  };
}

/** The contents of the named files in the last commit, by id. */
async function committedContents(repository: GitRepository, plan: CommitPlan): Promise<Map<string, Buffer>> {
  const contents = new Map<string, Buffer>();
  const ids = plan.files.flatMap(({ committed }) =>
    committed && committed.mode !== '160000' ? [committed.id] : [],
  );
  if (ids.length === 0) return contents;
  const { stdout } = await plan.git.ask(['cat-file', '--batch'], {
    input: Buffer.from(`${ids.join('\n')}\n`),
    maxBytes: repository.workspace.limits.fileBytes,
  });
  for (let at = 0; at < stdout.length; ) {
    const lineEnd = stdout.indexOf(10, at);
    if (lineEnd < 0) break;
    const [id = '', , size] = stdout.toString('latin1', at, lineEnd).split(' ');
    const end = lineEnd + 1 + Number(size);
    if (!(end <= stdout.length)) break;
    contents.set(id, stdout.subarray(lineEnd + 1, end));
    at = end + 1;
  }
  return contents;
}

/** For each submodule, a diff from its old commit to its new one. */
async function submoduleChanges(plan: CommitPlan): Promise<Map<string, string>> {
  const paths = plan.files.filter((file) => file.working.kind === 'submodule').map((file) => file.path);
  const changes = new Map<string, string>();
  const args = ['--ignore-submodules=dirty', '--submodule=short', '--no-ext-diff', '--no-color'];
  for (const path of paths) {
    const { stdout } = await plan.git.ask(['diff', ...args, 'HEAD', '--', path]);
    changes.set(path, makeVisible(stdout.toString('utf8')));
  }
  return changes;
}

/** `before` is the content in the last commit; undefined if there is none or if it is too large to be shown. */
function drawFile({ path, committed, working }: NamedFile, before: Buffer | undefined) {
  const isGone = working.kind === 'gone';
  return fileDiff({
    path,
    operation: committed === undefined ? 'created' : isGone ? 'deleted' : 'modified',
    before: before ?? null,
    after: working.kind === 'content' ? working.bytes : null,
    modeBefore: committed && permissions(committed.mode),
    modeAfter: working.kind === 'content' ? permissions(working.mode) : undefined,
  });
}

/** A link gets LINK_MODE, so that it does not look like a file whose text is a path. */
const permissions = (mode: string): number =>
  mode.startsWith('12') ? LINK_MODE : Number.parseInt(mode.slice(-3), 8);
