import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeVisible, type ToolParams, type ToolSuccess } from '@countersign/protocol';
import { fileDiff, LINK_MODE } from '../preview/file-diff.ts';
import { digestOfCall, visibleName } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';
import { type CommitPlan, type NamedFile, planCommit } from './commit-plan.ts';
import type { ConfigEntry } from './config-text.ts';
import { parseDiff } from './diff-output.ts';
import { gitFailed } from './git-failure.ts';
import { type Commit, commitFormat, parseLog } from './git-log.ts';
import type { GitOptions, GitRepository } from './git-repository.ts';
import { followingHooks, hookEnvironment, writingOptions } from './git-tools.ts';

/**
 * `git commit --only`: the named files as they are in the work tree; other staged files stay staged. New files are made
 * known to the index first, and forgotten again if the commit fails.
 */
export const gitCommit: ToolModule<'git_commit'> = {
  /** The hooks in the list run when it is approved: in isolation, with the workspace writable, without network. */
  async look(call, decision, repository) {
    const { params } = call;
    const plan = await planCommit(repository, params);
    const before = await committedContents(repository, plan);
    const submodules = await submoduleChanges(repository, plan);
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
    // The reflog of a first commit: git will not make a folder through our link to it.
    mkdirSync(join(repository.workspace.root, '.git/logs'), { recursive: true });
    const { value, changes } = await followingHooks(repository, plan, context, async () => {
      if (fresh.length > 0)
        await repository.ask(plan.own, ['add', '--intent-to-add', '--', ...fresh], writing);
      await makeCommit(repository, plan, params, writing, fresh);
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
  repository: GitRepository,
  { own, files, settings }: CommitPlan,
  { message }: ToolParams<'git_commit'>,
  writing: GitOptions,
  fresh: readonly string[],
): Promise<void> {
  const answer = await repository
    .run(
      own,
      [
        ...['commit', '--only', '--quiet', '--no-status', '--no-gpg-sign'],
        ...['--cleanup=whitespace', '--file=-', '--', ...files.map(({ path }) => `:(top,literal)${path}`)],
      ],
      {
        ...writing,
        settings,
        environment: hookEnvironment,
        input: Buffer.from(message, 'utf8'),
      },
    )
    .catch(async (error: unknown) => {
      await forget(repository, own, fresh);
      throw error;
    });
  if (answer.exitCode !== 0) {
    await forget(repository, own, fresh);
    throw gitFailed(answer.stderr + answer.stdout.toString('utf8'), answer.exitCode);
  }
}

/** Ignores cancellation: the index is always restored. */
async function forget(
  repository: GitRepository,
  own: readonly ConfigEntry[],
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  await repository.run(own, ['update-index', '--force-remove', '--', ...names], {
    confinement: { workspace: 'write', writableGit: 'data' },
    environment: { GIT_OPTIONAL_LOCKS: '1' },
  });
}

async function lastCommit(
  repository: GitRepository,
  { own }: CommitPlan,
): Promise<{ commit: Commit; committed: ToolSuccess<'git_commit'>['changed_files'] }> {
  const { stdout } = await repository.ask(own, [
    ...['log', '-1', '-z', `--format=${commitFormat}`, '--no-show-signature', '--encoding=UTF-8'],
  ]);
  const commit = parseLog(stdout)[0] as Commit;
  const changes = await repository.ask(own, [
    ...['diff-tree', '-r', '--root', '--no-commit-id', '--no-renames', '--raw', '--no-ext-diff', commit.id],
  ]);
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
  const { stdout } = await repository.ask(plan.own, ['cat-file', '--batch'], {
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

/** From which commit to which a submodule would move. */
async function submoduleChanges(repository: GitRepository, plan: CommitPlan): Promise<Map<string, string>> {
  const paths = plan.files.filter((file) => file.working.kind === 'submodule').map((file) => file.path);
  const changes = new Map<string, string>();
  for (const path of paths) changes.set(path, await submoduleDiff(repository, plan.own, path));
  return changes;
}

async function submoduleDiff(
  repository: GitRepository,
  own: readonly ConfigEntry[],
  path: string,
): Promise<string> {
  const args = ['--ignore-submodules=dirty', '--submodule=short', '--no-ext-diff', '--no-color'];
  const { stdout } = await repository.ask(own, ['diff', ...args, 'HEAD', '--', path]);
  return makeVisible(stdout.toString('utf8'));
}

/** `before` is what the last commit has; undefined also where that is too much to be shown. */
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

/** A link must not look like a file whose text is a path. */
const permissions = (mode: string): number =>
  mode.startsWith('12') ? LINK_MODE : Number.parseInt(mode.slice(-3), 8);
