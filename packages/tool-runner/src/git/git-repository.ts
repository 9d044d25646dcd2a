import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { viewPrefix } from '../isolation/abandoned-isolation.ts';
import type { Confinement, ProcessRequest } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import type { Workspace } from '../workspace.ts';
import { type ConfigEntry, parseConfigList, setting, writeConfig } from './config-text.ts';
import { gitFailed } from './git-failure.ts';
import { type GitAnswer, type GitRun, runGit } from './git-process.ts';
import { hiddenInDiffs } from './hidden-in-diffs.ts';
import { PersonsGit } from './persons-git.ts';
import { hidePasswords } from './remote-address.ts';
import { checkLayout, readSmallFile, unsafe } from './repository-layout.ts';
import { checkSettings, includedFile, settingsForGit } from './repository-settings.ts';

export interface GitOptions extends Partial<Omit<GitRun, 'args' | 'confinement'>> {
  /** Added to the settings that git sees. */
  readonly settings?: readonly ConfigEntry[];
  /** Changes to the LOW confinement: workspace read-only, no network, sensitive files masked. */
  readonly confinement?: Partial<Confinement>;
}

/** A repository that has been checked. The signal of `open` cancels each run whose options do not name a signal. */
export interface OpenedRepository {
  /** The repository's own settings, in order. Git does not see them. */
  readonly own: readonly ConfigEntry[];
  /** Runs git. Any exit code is a normal result. */
  run(args: readonly string[], options?: GitOptions): Promise<GitAnswer>;
  /** Runs git and throws GIT_FAILED, with git's message, unless it succeeds. */
  ask(args: readonly string[], options?: GitOptions): Promise<GitAnswer>;
}

/** Parts of `.git` that GIT_COMMON_DIR links to. */
const linked = ['objects', 'refs', 'packed-refs', 'reftable', 'logs', 'shallow', 'modules'];
const linkedInfo = ['exclude', 'attributes', 'sparse-checkout'];

const MAX_INCLUDES = 20;
const MAX_PARSED = 100;
const MEMORY_BYTES = 2 * 1024 ** 3;

/**
 * The workspace's repository, as our git sees it (RN-6). Git never sees the repository's own configuration:
 * GIT_COMMON_DIR is a folder of ours with a configuration that we wrote (repository-settings.ts) and links to the
 * repository's objects and refs. So no filter, textconv, external diff, fsmonitor, alias, pager, ssh command,
 * credential helper, gpg program or url rewriting of the repository can run. Git looks for hooks in `core.hooksPath`,
 * which is /dev/null unless a caller sets another. The price: a file that a filter would have changed (LFS) is reported
 * as modified once its times have changed.
 */
export class GitRepository {
  readonly workspace: Workspace;
  /** The person's own git, outside isolation, for what reaches a remote. */
  readonly persons: PersonsGit;
  readonly #starter: IsolatingStarter;
  #views: string | undefined;
  readonly #knownViews = new Map<string, string>();
  /** Parsed configuration files, by the hash of their content: parsing one costs a process. */
  readonly #parsed = new Map<string, readonly ConfigEntry[]>();

  /** `environment` is the runner's own, of which the person's git gets what it needs. */
  constructor(
    workspace: Workspace,
    starter: IsolatingStarter,
    environment?: Readonly<Record<string, string | undefined>>,
  ) {
    this.workspace = workspace;
    this.persons = new PersonsGit(workspace, environment);
    this.#starter = starter;
  }

  /** Checks the repository, and throws REPOSITORY_UNSAFE or NOT_A_REPOSITORY (RN-6). */
  async open(signal?: AbortSignal): Promise<OpenedRepository> {
    checkLayout(this.workspace.root);
    const settings = await this.#readSettings('.git/config', new Set(), signal);
    const own = settings.some((entry) => entry.section === 'extensions' && entry.name === 'worktreeconfig')
      ? [...settings, ...(await this.#readSettings('.git/config.worktree', new Set(), signal))]
      : settings;
    checkSettings(this.workspace.root, own);
    const run: OpenedRepository['run'] = (args, options) => this.#run(own, args, { signal, ...options });
    return {
      own,
      run,
      async ask(args, options) {
        const answer = await run(args, options);
        if (answer.exitCode !== 0 && !answer.cut) throw gitFailed(answer.stderr, answer.exitCode);
        return answer;
      },
    };
  }

  /**
   * Makes the git calls of a LOW shell line read as safely as ours, whatever the repository's configuration says.
   * Returns the environment and a folder to show. Addresses of remotes are kept, without passwords. Sensitive files in
   * commits count as binary, so that no diff shows their lines (VA-2). Without a repository, git finds none. Throws
   * REPOSITORY_UNSAFE.
   */
  async forLine(
    signal: AbortSignal,
  ): Promise<Required<Pick<ProcessRequest, 'environment'>> & { readable: string[] }> {
    const environment = { ...gitEnvironment, GIT_LITERAL_PATHSPECS: '0' };
    let own: readonly ConfigEntry[];
    try {
      ({ own } = await this.open(signal));
    } catch (error) {
      if (!(error instanceof CountersignError) || error.code !== 'NOT_A_REPOSITORY') throw error;
      return { environment: { ...environment, GIT_DIR: '/nonexistent' }, readable: [] };
    }
    const { root } = this.workspace;
    const added = [
      ...remoteAddresses(own),
      setting('core.abbrev', 'auto'),
      setting('diff.ignoresubmodules', 'dirty'),
    ];
    const attributes = readSmallFile(root, '.git/info/attributes')?.toString('latin1') ?? '';
    const view = this.#viewOf(settingsForGit(own, added), `${attributes}\n${hiddenInDiffs}`);
    const places = { GIT_DIR: join(root, '.git'), GIT_COMMON_DIR: view, GIT_WORK_TREE: root };
    return { environment: { ...environment, ...places }, readable: [view] };
  }

  #run(own: readonly ConfigEntry[], args: readonly string[], options: GitOptions): Promise<GitAnswer> {
    const { root, limits } = this.workspace;
    const view = this.#viewOf(settingsForGit(own, options.settings ?? []));
    const { confinement, settings: _, environment, ...rest } = options;
    return runGit(this.#starter, {
      maxBytes: limits.outputStreamBytes,
      timeoutSeconds: limits.commandTimeoutDefaultSeconds,
      ...rest,
      args: options.program === undefined ? ['--no-pager', ...args] : args,
      confinement: {
        workspace: 'read',
        network: false,
        maskSensitive: true,
        limits: { memoryBytes: MEMORY_BYTES },
        ...confinement,
        readable: [view, ...(confinement?.readable ?? [])],
      },
      environment: {
        ...gitEnvironment,
        GIT_DIR: join(root, '.git'),
        GIT_COMMON_DIR: view,
        GIT_WORK_TREE: root,
        ...environment,
      },
    });
  }

  /** Parses a configuration with git itself, in isolation without the workspace. */
  async #parse(bytes: Buffer, signal?: AbortSignal): Promise<readonly ConfigEntry[]> {
    const key = createHash('sha256').update(bytes).digest('hex');
    const known = this.#parsed.get(key);
    if (known) return known;
    const answer = await runGit(this.#starter, {
      args: ['config', '--file', '-', '--no-includes', '--list', '-z'],
      confinement: { workspace: 'none', network: false, maskSensitive: true },
      environment: { ...gitEnvironment, GIT_DIR: '/nonexistent' },
      input: bytes,
      maxBytes: this.workspace.limits.outputStreamBytes,
      timeoutSeconds: this.workspace.limits.commandTimeoutDefaultSeconds,
      signal,
    });
    if (answer.exitCode !== 0 || answer.cut) throw unsafe('its configuration cannot be read');
    const entries = parseConfigList(answer.stdout);
    if (this.#parsed.size >= MAX_PARSED) this.#parsed.clear();
    this.#parsed.set(key, entries);
    return entries;
  }

  /** Removes the folders that were made for git. Harmless twice. */
  dispose(): void {
    if (this.#views !== undefined) rmSync(this.#views, { recursive: true, force: true });
    this.#views = undefined;
    this.#knownViews.clear();
    this.#parsed.clear();
  }

  async #readSettings(file: string, seen: Set<string>, signal?: AbortSignal): Promise<ConfigEntry[]> {
    if (seen.has(file)) return [];
    seen.add(file);
    if (seen.size > MAX_INCLUDES) throw unsafe('its configuration includes too many files');
    const bytes = readSmallFile(this.workspace.root, file);
    if (bytes === undefined) return [];
    const entries = await this.#parse(bytes, signal);
    const all: ConfigEntry[] = [];
    for (const entry of entries) {
      all.push(entry);
      const included = includedFile(this.workspace.root, file, entry);
      if (included !== undefined) all.push(...(await this.#readSettings(included, seen, signal)));
    }
    return all;
  }

  /** A folder for GIT_COMMON_DIR with this configuration, made when it is first needed. `attributes` replace the repository's. */
  #viewOf(settings: readonly ConfigEntry[], attributes?: string): string {
    const config = writeConfig(settings);
    const key = createHash('sha256')
      .update(config)
      .update(attributes ?? '')
      .digest('hex');
    const known = this.#knownViews.get(key);
    if (known !== undefined) return known;
    this.#views ??= mkdtempSync(join(this.workspace.stateFolder, viewPrefix));
    const view = join(this.#views, key.slice(0, 16));
    const git = join(this.workspace.root, '.git');
    mkdirSync(join(view, 'info'), { recursive: true });
    for (const name of linked) symlinkSync(join(git, name), join(view, name));
    for (const name of linkedInfo)
      if (name !== 'attributes' || attributes === undefined)
        symlinkSync(join(git, 'info', name), join(view, 'info', name));
    if (attributes !== undefined)
      writeFileSync(join(view, 'info/attributes'), Buffer.from(attributes, 'latin1'), { mode: 0o600 });
    writeFileSync(join(view, 'config'), config, { mode: 0o600 });
    this.#knownViews.set(key, view);
    return view;
  }
}

/** The addresses of remotes, which `git remote -v` shows. */
const remoteAddresses = (own: readonly ConfigEntry[]): ConfigEntry[] =>
  own
    .filter(
      ({ section, subsection, name }) => section === 'remote' && subsection && /^(push)?url$/.test(name),
    )
    .map((entry) => ({ ...entry, value: hidePasswords(entry.value) }));

const gitEnvironment: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'false',
  SSH_ASKPASS: 'false',
  GIT_EDITOR: 'false',
  GIT_PAGER: 'cat',
  PAGER: 'cat',
  LC_ALL: 'C.UTF-8',
};
