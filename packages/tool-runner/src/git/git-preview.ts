import { makeVisible, type ToolParams } from '@countersign/protocol';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { fileDiff, LINK_MODE } from '../preview/file-diff.ts';
import type { GitPreview, GitPreviewer } from '../preview/git-previewer.ts';
import { visibleName } from '../preview/visible-name.ts';
import type { Workspace } from '../workspace.ts';
import { type CommitPlan, type NamedFile, planCommit } from './commit-plan.ts';
import type { ConfigEntry } from './config-text.ts';
import { commitFormat, parseLog } from './git-output.ts';
import { GitRepository } from './git-repository.ts';
import { planPush } from './push-plan.ts';
import { hidePasswords } from './remote-address.ts';

/**
 * What a commit or a push would do, for the person (AP-7). Computed in the LOW confinement: nothing of the repository
 * runs. What cannot work (no such remote, a merge that is not finished, a repository that points outside) is thrown
 * with its code, so that nobody is asked about it.
 */
export class RepositoryPreviewer implements GitPreviewer {
  readonly #repository: GitRepository;

  constructor(workspace: Workspace, starter: IsolatingStarter) {
    this.#repository = new GitRepository(workspace, starter);
  }

  /** The hooks in the list run when it is approved: in isolation, with the workspace writable, without network. */
  async commitPreview(params: ToolParams<'git_commit'>, signal?: AbortSignal): Promise<GitPreview> {
    const plan = await planCommit(this.#repository, params, signal);
    const before = await this.#committedContents(plan, signal);
    const submodules = await this.#submoduleChanges(plan, signal);
    const files = plan.files.map((file) => {
      const pointer = submodules.get(file.path);
      const drawn = drawFile(file, file.committed && before.get(file.committed.id));
      return pointer === undefined ? drawn : { ...drawn, diff: pointer, truncated: false };
    });
    return {
      preview: {
        kind: 'commit',
        message: makeVisible(params.message),
        files,
        hooks: plan.hooks.map(visibleName),
      },
      base: [...plan.base, ...[...submodules].map(([path, diff]) => `submodule ${path} ${diff}`)],
    };
  }

  /**
   * The commits are those that this repository has not seen in the branch that moves (of a new one: anywhere on the
   * remote), and at least the one that it will be at: nothing is fetched for a preview. The hooks in the list run when
   * it is approved; those of a remote that is a folder on this machine are listed too.
   */
  async pushPreview(params: ToolParams<'git_push'>, signal?: AbortSignal): Promise<GitPreview> {
    const plan = await planPush(this.#repository, params, signal);
    const { remote, branch, address, tip, remoteTip, own } = plan;
    const unseen = [tip, '--not', remoteTip ?? `--remotes=${remote}`];
    const { limits } = this.#repository.workspace;
    const [listed, counted] = await Promise.all([
      this.#repository.ask(own, logOf(limits.entries, unseen), { signal }),
      this.#repository.ask(own, ['rev-list', '--count', ...unseen, '--'], { signal }),
    ]);
    // Where the branch will be is told in any case: what is known of the remote is only what this repository says.
    const found = parseLog(listed.stdout);
    const shown = found.length > 0 ? found : await this.#commitAt(own, tip, signal);
    const commits = shown.map(({ id, subject, author }) => ({
      id,
      subject: makeVisible(subject),
      author: makeVisible(author),
    }));
    const more = Number(counted.stdout.toString('latin1')) - found.length;
    if (more > 0) commits.push({ id: '', subject: `and ${more} earlier commits`, author: '' });
    return {
      preview: {
        kind: 'push',
        remote,
        url: visibleName(hidePasswords(address.kind === 'folder' ? address.folder : address.url)),
        branch: visibleName(branch),
        commits,
        hooks: plan.hooks.map(visibleName),
      },
      base: [...plan.base],
    };
  }

  async #commitAt(own: readonly ConfigEntry[], id: string, signal?: AbortSignal) {
    return parseLog((await this.#repository.ask(own, logOf(1, [id]), { signal })).stdout);
  }

  dispose(): void {
    this.#repository.dispose();
  }

  /** The contents of the named files in the last commit, by id. */
  async #committedContents(plan: CommitPlan, signal?: AbortSignal): Promise<Map<string, Buffer>> {
    const contents = new Map<string, Buffer>();
    const ids = plan.files.flatMap(({ committed }) =>
      committed && committed.mode !== '160000' ? [committed.id] : [],
    );
    if (ids.length === 0) return contents;
    const { stdout } = await this.#repository.ask(plan.own, ['cat-file', '--batch'], {
      input: Buffer.from(`${ids.join('\n')}\n`),
      maxBytes: this.#repository.workspace.limits.fileBytes,
      signal,
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
  async #submoduleChanges(plan: CommitPlan, signal?: AbortSignal): Promise<Map<string, string>> {
    const paths = plan.files.filter((file) => file.working.kind === 'submodule').map((file) => file.path);
    const changes = new Map<string, string>();
    for (const path of paths) changes.set(path, await this.#submoduleDiff(plan.own, path, signal));
    return changes;
  }

  async #submoduleDiff(own: readonly ConfigEntry[], path: string, signal?: AbortSignal): Promise<string> {
    const args = ['--ignore-submodules=dirty', '--submodule=short', '--no-ext-diff', '--no-color'];
    const { stdout } = await this.#repository.ask(own, ['diff', ...args, 'HEAD', '--', path], { signal });
    return makeVisible(stdout.toString('utf8'));
  }
}

const logOf = (most: number, revisions: readonly string[]): string[] => [
  ...['log', '-z', `--format=${commitFormat}`, `--max-count=${most}`],
  ...['--no-show-signature', '--no-mailmap', '--encoding=UTF-8', ...revisions, '--'],
];

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
