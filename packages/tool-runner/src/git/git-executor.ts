import { lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isBranchName, isRemoteName } from '@countersign/policy';
import {
  type BuiltInToolCall,
  type BuiltInToolName,
  CountersignError,
  type ToolParams,
  type ToolSuccess,
} from '@countersign/protocol';
import { withChanges } from '../commands/workspace-changes.ts';
import type { CallContext, Executor, ToolResult } from '../executor.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { realDisk } from '../real-disk.ts';
import { tellProgress } from '../work-progress.ts';
import type { Workspace } from '../workspace.ts';
import { type CommitPlan, planCommit, readHead } from './commit-plan.ts';
import type { ConfigEntry } from './config-text.ts';
import { gitFailed } from './git-failure.ts';
import { type Commit, commitFormat, parseDiff, parseLog, parseStatus } from './git-output.ts';
import { GitProgressLines } from './git-phases.ts';
import { type GitOptions, GitRepository } from './git-repository.ts';
import { operandForGit } from './operand.ts';
import { readPush } from './push-output.ts';
import { planPush } from './push-plan.ts';
import { hidePasswords } from './remote-address.ts';

const tools = ['git_status', 'git_diff', 'git_log', 'git_commit', 'git_branch', 'git_push'] as const;
type GitTool = (typeof tools)[number];
type GitCall = Extract<BuiltInToolCall, { tool: GitTool }>;

/**
 * The git tools: real git, in isolation, on the workspace's own repository (RN-6). What git is shown of the
 * repository, and why nothing of it runs, stands in git-repository.ts. Reads run in the LOW confinement. A commit and
 * a push run the repository's hooks, which their preview named and the digest covers, without network for a commit.
 */
export class GitExecutor implements Executor {
  readonly tools: readonly BuiltInToolName[] = tools;
  readonly #repository: GitRepository;

  constructor(workspace: Workspace, starter: IsolatingStarter) {
    this.#repository = new GitRepository(workspace, starter);
  }

  async execute(call: BuiltInToolCall, context: CallContext): Promise<ToolResult> {
    // What an optional field leaves out is left out of JSON too.
    return (await this.#execute(call as GitCall, context)) as ToolResult;
  }

  #execute({ tool, params }: GitCall, context: CallContext): Promise<ToolSuccess<GitTool>> {
    switch (tool) {
      case 'git_status':
        return this.#status(params, context);
      case 'git_diff':
        return this.#diff(params, context);
      case 'git_log':
        return this.#log(params, context);
      case 'git_commit':
        return this.#commit(params, context);
      case 'git_branch':
        return this.#branch(params, context);
      case 'git_push':
        return this.#push(params, context);
    }
  }

  async dispose(): Promise<void> {
    this.#repository.dispose();
  }

  async #status(
    { path }: ToolParams<'git_status'>,
    { signal }: CallContext,
  ): Promise<ToolSuccess<'git_status'>> {
    const own = await this.#repository.open(signal);
    const args = ['--porcelain=v2', '-z', '--branch', '--untracked-files=all'];
    const { stdout, cut } = await this.#repository.ask(
      own,
      ['status', ...args, '--ignore-submodules=dirty', '--', ...this.#limitTo(path)],
      { signal },
    );
    return parseStatus(stdout, { entries: this.#limits.entries, cut });
  }

  /** Since the last commit: the work tree against it, staged or not. Staged: the index against it. */
  async #diff(
    { path, staged }: ToolParams<'git_diff'>,
    { signal, riskLevel }: CallContext,
  ): Promise<ToolSuccess<'git_diff'>> {
    const own = await this.#repository.open(signal);
    const args = ['--raw', '--patch', '--find-copies', '--no-ext-diff', '--no-textconv', '--no-color'];
    const diffWith = (commit: string) =>
      this.#repository.run(
        own,
        [
          ...[
            'diff',
            ...args,
            '--ignore-submodules=dirty',
            '--submodule=short',
            ...(staged ? ['--cached'] : []),
          ],
          ...[commit, '--', ...this.#limitTo(path)],
        ],
        { signal },
      );
    let answer = await diffWith('HEAD');
    if (answer.exitCode !== 0 && !answer.cut) {
      // Before the first commit everything is new: compared with the empty tree.
      const { head } = await readHead(this.#repository, own, signal);
      if (head !== null) throw gitFailed(answer.stderr, answer.exitCode);
      answer = await diffWith(await this.#emptyTree(own, signal));
      if (answer.exitCode !== 0 && !answer.cut) throw gitFailed(answer.stderr, answer.exitCode);
    }
    const options = { entries: this.#limits.entries, cut: answer.cut };
    // What is staged comes from the repository. Of the work tree, nobody was asked about a file that may be one
    // outside.
    const isUnasked = !staged && riskLevel === 'LOW';
    return parseDiff(
      answer.stdout,
      isUnasked ? { ...options, hides: (file) => this.#isShared(file) } : options,
    );
  }

  /** Whether a file has several names (hard links), so that its content may be a file outside (VA-1). */
  #isShared(path: Buffer): boolean {
    const absolute = Buffer.concat([Buffer.from(`${this.#root}/`), path]);
    const stats = lstatSync(absolute, { throwIfNoEntry: false });
    return stats?.isFile() === true && stats.nlink > 1;
  }

  async #log(
    { path, limit }: ToolParams<'git_log'>,
    { signal }: CallContext,
  ): Promise<ToolSuccess<'git_log'>> {
    const own = await this.#repository.open(signal);
    // A file keeps its history when it is renamed; git can follow one file, not a folder.
    const isFile = path !== undefined && realDisk.look(join(this.#root, path))?.type === 'file';
    const answer = await this.#repository.run(
      own,
      [
        ...['log', '-z', `--format=${commitFormat}`, `--max-count=${limit + 1}`, '--no-show-signature'],
        ...[
          '--no-mailmap',
          '--encoding=UTF-8',
          ...(isFile ? ['--follow'] : []),
          '--',
          ...this.#limitTo(path),
        ],
      ],
      { signal },
    );
    if (answer.exitCode !== 0 && !answer.cut) {
      const { head } = await readHead(this.#repository, own, signal);
      if (head !== null) throw gitFailed(answer.stderr, answer.exitCode);
      return { success: true, commits: [], truncated: false };
    }
    const commits = parseLog(answer.stdout);
    return {
      success: true,
      commits: commits.slice(0, limit),
      truncated: answer.cut || commits.length > limit,
    };
  }

  /**
   * `git commit --only`: the named files as they are in the work tree, whatever else is staged stays staged. New
   * files are made known to the index first, and forgotten again if the commit fails.
   */
  async #commit(params: ToolParams<'git_commit'>, context: CallContext): Promise<ToolSuccess<'git_commit'>> {
    const plan = await planCommit(this.#repository, params, context.signal);
    const writing = this.#writing(context);
    const fresh = plan.files.filter((file) => !file.staged && !file.committed).map((file) => file.path);
    // The reflog of a first commit: git will not make a folder through our link to it.
    mkdirSync(join(this.#root, '.git/logs'), { recursive: true });
    const { value, changes } = await this.#followingHooks(plan, context, async () => {
      if (fresh.length > 0)
        await this.#repository.ask(plan.own, ['add', '--intent-to-add', '--', ...fresh], writing);
      await this.#makeCommit(plan, params, writing, fresh);
      return this.#lastCommit(plan);
    });
    const { commit, committed } = value;
    const others = (changes.changed_files ?? []).filter(
      ({ path }) => !committed.some((file) => file.path === path),
    );
    return { success: true, commit, ...changes, changed_files: [...committed, ...others] };
  }

  async #makeCommit(
    { own, files, settings }: CommitPlan,
    { message }: ToolParams<'git_commit'>,
    writing: GitOptions,
    fresh: readonly string[],
  ): Promise<void> {
    const answer = await this.#repository
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
        await this.#forget(own, fresh);
        throw error;
      });
    if (answer.exitCode !== 0) {
      await this.#forget(own, fresh);
      throw gitFailed(answer.stderr + answer.stdout.toString('utf8'), answer.exitCode);
    }
  }

  /** Git itself leaves the work tree alone here; its hooks may not: a formatter is a usual one. */
  #followingHooks<T>(
    { hooks }: { readonly hooks: readonly string[] },
    { signal }: CallContext,
    run: () => Promise<T>,
  ) {
    return withChanges(this.#repository.workspace, hooks.length > 0, signal, run);
  }

  async #branch(
    { name, create }: ToolParams<'git_branch'>,
    context: CallContext,
  ): Promise<ToolSuccess<'git_branch'>> {
    if (name !== undefined && !isBranchName(name))
      throw invalid('git_branch', `"${name}" is not a branch name`);
    const own = await this.#repository.open(context.signal);
    // What is made is reported, also when the call is cancelled meanwhile.
    const signal = create ? undefined : context.signal;
    if (create && name !== undefined) {
      mkdirSync(join(this.#root, '.git/logs'), { recursive: true });
      await this.#repository.ask(own, ['branch', '--no-track', '--', name, 'HEAD'], this.#writing(context));
    }
    const fields = ['refname', 'objectname', 'upstream:short'].map((field) => `%(${field})`).join('%00');
    const [{ branch }, { stdout }] = await Promise.all([
      readHead(this.#repository, own, signal),
      this.#repository.ask(
        own,
        [
          ...['for-each-ref', `--format=${fields}`, `--count=${this.#limits.entries}`],
          `refs/heads/${name ?? ''}`,
        ],
        { signal },
      ),
    ]);
    const branches = stdout
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [ref = '', commit = '', upstream = ''] = line.split('\0');
        return { name: ref.slice('refs/heads/'.length), commit, upstream: upstream === '' ? null : upstream };
      })
      // A pattern also finds what stands below it: `feature/x` for `feature`.
      .filter((found) => name === undefined || found.name === name);
    return { success: true, current: branch, branches };
  }

  /**
   * One branch to the branch of the same name, never by force. The person's credential helper, keys and agent are not
   * in isolation: a remote that asks for them fails and says what to do. A remote that is a folder is the one thing
   * outside the workspace that git may write, and its URL in the preview says which.
   */
  async #push(params: ToolParams<'git_push'>, context: CallContext): Promise<ToolSuccess<'git_push'>> {
    const { remote, branch: wanted } = params;
    if (!isRemoteName(remote)) throw invalid('git_push', `"${remote}" is not the name of a remote`);
    if (wanted !== undefined && !isBranchName(wanted))
      throw invalid('git_push', `"${wanted}" is no branch name`);
    const plan = await planPush(this.#repository, params, context.signal);
    const { branch, address } = plan;
    const writing = this.#writing(context);
    mkdirSync(join(this.#root, '.git/logs'), { recursive: true });
    const progress = new GitProgressLines();
    const push = () =>
      this.#repository.run(
        plan.own,
        [
          ...[
            'push',
            '--porcelain',
            '--no-follow-tags',
            '--no-signed',
            '--no-recurse-submodules',
            '--progress',
          ],
          ...(address.kind === 'folder' ? [`--receive-pack=${receivePack(address.folder)}`] : []),
          ...['--', remote, `refs/heads/${branch}:refs/heads/${branch}`],
        ],
        {
          ...writing,
          progress,
          settings: plan.settings,
          environment: { ...hookEnvironment, GIT_SSH_COMMAND: 'ssh -o BatchMode=yes' },
          confinement: {
            ...writing.confinement,
            network: address.kind === 'network' && context.network,
            ...(address.kind === 'folder' ? { writable: [address.folder] } : {}),
          },
        },
      );
    const { value, changes } = await this.#followingHooks(plan, context, async () => {
      const telling = { report: context.onProgress, describe: () => progress.latest };
      return readPush(await tellProgress(telling, push), plan);
    });
    return { success: true, remote, branch, ...value, ...changes };
  }

  async #forget(own: readonly ConfigEntry[], names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    // Not with the call's signal: also what was cancelled leaves the index as it was.
    await this.#repository.run(own, ['update-index', '--force-remove', '--', ...names], {
      confinement: { workspace: 'write', writableGit: 'data' },
      environment: { GIT_OPTIONAL_LOCKS: '1' },
    });
  }

  async #lastCommit({
    own,
  }: CommitPlan): Promise<{ commit: Commit; committed: ToolSuccess<'git_commit'>['changed_files'] }> {
    const { stdout } = await this.#repository.ask(own, [
      ...['log', '-1', '-z', `--format=${commitFormat}`, '--no-show-signature', '--encoding=UTF-8'],
    ]);
    const commit = parseLog(stdout)[0] as Commit;
    const changes = await this.#repository.ask(own, [
      ...['diff-tree', '-r', '--root', '--no-commit-id', '--no-renames', '--raw', '--no-ext-diff', commit.id],
    ]);
    const { files } = parseDiff(changes.stdout, { entries: this.#limits.entries, cut: changes.cut });
    const operations = { added: 'created', deleted: 'deleted' } as const;
    return {
      commit,
      committed: files.map(({ path, state }) => ({
        path,
        operation: operations[state as keyof typeof operations] ?? 'modified',
      })),
    };
  }

  async #emptyTree(own: readonly ConfigEntry[], signal: AbortSignal): Promise<string> {
    const { stdout } = await this.#repository.ask(own, ['hash-object', '-t', 'tree', '--stdin'], {
      input: Buffer.alloc(0),
      signal,
    });
    return stdout.toString('latin1').trim();
  }

  /** For calls that a person approved: git writes, hooks may take their time, what they say is progress. */
  #writing({ signal, onProgress, onProcess }: CallContext): GitOptions {
    return {
      confinement: { workspace: 'write', writableGit: 'data' },
      environment: { GIT_OPTIONAL_LOCKS: '1' },
      timeoutSeconds: this.#limits.commandTimeoutMaxSeconds,
      signal,
      onProcess,
      onStderr: (chunk) => onProgress({ output: { stream: 'stderr', chunk: hidePasswords(chunk) } }),
    };
  }

  #limitTo(path: string | undefined): string[] {
    return path === undefined ? [] : [operandForGit(this.#root, path)];
  }

  get #root(): string {
    return this.#repository.workspace.root;
  }

  get #limits() {
    return this.#repository.workspace.limits;
  }
}

/** Hooks call git too, and mean their patterns as patterns. */
const hookEnvironment = { GIT_OPTIONAL_LOCKS: '1', GIT_LITERAL_PATHSPECS: '0' };

/** The other side of a push on this machine: it obeys its own configuration, except where that starts programs. */
function receivePack(folder: string): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const settings = [
    `core.hooksPath=${join(folder, 'hooks')}`,
    'core.alternateRefsCommand=',
    'core.fsmonitor=false',
  ];
  return `git ${settings.map((text) => `-c ${quoted(text)}`).join(' ')} -c gc.auto=0 receive-pack`;
}

const invalid = (tool: string, problem: string): CountersignError =>
  new CountersignError('INVALID_PARAMS', { tool, problem });
