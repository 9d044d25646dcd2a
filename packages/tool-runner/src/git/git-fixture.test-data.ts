import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ToolCallPolicy } from '@countersign/policy';
import {
  type BuiltInToolCall,
  type BuiltInToolName,
  defaultLimits,
  findTool,
  type Limits,
  parseToolCall,
  type RiskLevel,
  resultSchemaOf,
  type ToolSuccess,
} from '@countersign/protocol';
import { BuiltInTools } from '../built-in-tools.ts';
import { BackgroundJobs } from '../commands/background-jobs.ts';
import type { Progress } from '../executor.ts';
import { IsolatingStarter } from '../isolation/process-starter.ts';
import { realDisk } from '../real-disk.ts';
import type { Workspace } from '../workspace.ts';
import { GitRepository } from './git-repository.ts';

interface FixtureOptions {
  /** Without isolation nothing but git's own settings stands between an attacker's program and the machine. */
  readonly isolated?: boolean;
  readonly limits?: Partial<Limits>;
  /** Ports of this machine that isolation lets through. */
  readonly reachablePorts?: readonly number[];
}

const readingLines = [
  'git status && git status -sb',
  'git diff; git diff --stat HEAD; git diff --cached',
  'git log -p -3 | head -50',
  'git show HEAD; git show HEAD:a.txt',
  'git blame a.txt',
  'git ls-files -s && git ls-tree -r HEAD',
  'git branch -vv; git tag -l; git remote -v; git stash list; git worktree list',
  'git grep -n two; git describe --always; git rev-parse HEAD; git reflog -2; git shortlog -s HEAD',
  'cd . && git -C . --no-pager log --oneline --graph --all',
];

/** A real repository in a real workspace, a folder outside, a home with a name for git, and the executor on them. */
export class GitFixture {
  readonly parent = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-git-')));
  readonly root = join(this.parent, 'workspace');
  readonly outside = join(this.parent, 'outside');
  readonly home = join(this.parent, 'home');
  readonly workspace: Workspace;
  readonly repository: GitRepository;
  readonly executor: BuiltInTools;
  readonly progress: Progress[] = [];
  /** The runner's own environment. */
  readonly environment: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    GIT_CONFIG_NOSYSTEM: '1',
  };
  readonly #starter;

  constructor({ isolated = true, limits = {}, reachablePorts = [] }: FixtureOptions = {}) {
    for (const folder of [this.root, this.outside, this.home, join(this.parent, 'state')]) mkdirSync(folder);
    writeFileSync(join(this.home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.org\n');
    this.workspace = {
      root: this.root,
      stateFolder: join(this.parent, 'state'),
      limits: { ...defaultLimits, ...limits },
      home: this.home,
      addedEnvironment: [],
    };
    this.#starter = new IsolatingStarter(
      this.workspace,
      isolated ? { reachablePorts } : { allowUnisolated: true, bubblewrap: '/nonexistent/bwrap' },
    );
    this.repository = new GitRepository(this.workspace, this.#starter, this.environment);
    const services = { workspace: this.workspace, starter: this.#starter, git: this.repository };
    const jobs = new BackgroundJobs(this.#starter, this.workspace.limits.outputStreamBytes);
    this.executor = new BuiltInTools({
      git: this.repository,
      command: services,
      shell: { ...services, jobs },
    });
  }

  get isIsolated(): boolean {
    return this.#starter.isIsolated;
  }

  /** A repository with one commit: `a.txt` with three lines. */
  withCommit(): this {
    this.git('init', '--quiet', '--initial-branch=main');
    this.write('a.txt', 'one\ntwo\nthree\n');
    this.git('add', '.');
    this.git('commit', '--quiet', '-m', 'first');
    return this;
  }

  write(path: string, content: string | Uint8Array): void {
    const target = path.startsWith('/') ? path : join(this.root, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
  }

  /** Git as the person runs it, with everything that the repository's configuration says. */
  git(...args: string[]): string {
    return execFileSync('git', args, {
      cwd: this.root,
      env: this.#environment,
      encoding: 'utf8',
      stdio: 'pipe',
    });
  }

  /** Adds to the person's own git configuration. */
  personsGit(key: string, value: string): void {
    execFileSync('git', ['config', '--file', join(this.home, '.gitconfig'), '--add', key, value]);
  }

  /** Runs git where the test expects it to fail. */
  tryGit(args: readonly string[], input = ''): void {
    spawnSync('git', args, { cwd: this.root, env: this.#environment, input });
  }

  /** Git as the person runs it, against a server of this process. Resolves with its exit code. */
  async naiveGit(...args: string[]): Promise<number | null> {
    const child = spawn('git', args, { cwd: this.root, env: this.#environment, stdio: 'ignore' });
    const [code] = await once(child, 'exit');
    return code as number | null;
  }

  get #environment() {
    return {
      PATH: process.env.PATH,
      HOME: this.home,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_ALLOW_PROTOCOL: 'file:ext:ssh:git:http:https',
      GIT_EDITOR: 'true',
      GIT_TERMINAL_PROMPT: '0',
    };
  }

  /** A program outside that leaves a mark when it runs, and then behaves as `rest` says. */
  canary(name: string, rest = 'cat 2>/dev/null; exit 0'): string {
    const program = join(this.outside, `${name}.sh`);
    writeFileSync(program, `#!/bin/sh\n: > "${join(this.outside, `${name}.ran`)}"\n${rest}\n`, {
      mode: 0o755,
    });
    return program;
  }

  /** The marks since the last time they were looked at. */
  takeMarks(): string[] {
    const marks = readdirSync(this.outside).filter((name) => name.endsWith('.ran'));
    for (const mark of marks) rmSync(join(this.outside, mark));
    return marks.map((mark) => mark.slice(0, -'.ran'.length)).sort();
  }

  /** Runs a call as the handler does; what comes back has the shape that the catalogue says. */
  async call<N extends BuiltInToolName>(
    tool: N,
    params: unknown = {},
    signal: AbortSignal = new AbortController().signal,
    riskLevel: RiskLevel = 'LOW',
  ): Promise<ToolSuccess<N>> {
    const result = await this.executor.execute(this.parse(tool, params), {
      toolId: 'tool-1',
      attempt: 1,
      sessionId: 'session-1',
      riskLevel,
      network: true,
      signal,
      onProgress: (progress) => this.progress.push(progress),
      changes: { begin: () => {} },
    });
    const definition = findTool(tool);
    if (definition) resultSchemaOf(definition).parse(result);
    return result as unknown as ToolSuccess<N>;
  }

  parse<N extends BuiltInToolName>(tool: N, params: unknown): Extract<BuiltInToolCall, { tool: N }> {
    const parsed = parseToolCall(tool, params);
    if (!parsed.ok) throw new Error(parsed.error.message);
    return parsed.call as Extract<BuiltInToolCall, { tool: N }>;
  }

  /** What the card shows, and the base of its digest. */
  async preview(tool: BuiltInToolName, params: unknown) {
    const decision = new ToolCallPolicy({ root: this.root, disk: realDisk }).decide(tool, params);
    const call = this.parse(tool, params);
    const seen = await this.executor.preview(call, decision);
    if ((await this.executor.base(call, decision)) !== seen.base) throw new Error('the bases differ');
    return seen;
  }

  /** Makes every LOW call. Errors are returned with the results. */
  async allReads(): Promise<unknown[]> {
    const calls = [
      this.call('git_status'),
      this.call('git_diff'),
      this.call('git_diff', { staged: true }),
      this.call('git_log'),
      this.call('git_log', { path: 'a.txt' }),
      this.call('git_branch'),
    ];
    return (await Promise.allSettled(calls)).map((settled) =>
      settled.status === 'fulfilled' ? settled.value : settled.reason,
    );
  }

  /** The shell lines with git that would run unasked here, run one after the other. */
  async allLines(): Promise<{ line: string; answer: ToolSuccess<'shell_exec'> }[]> {
    const policy = new ToolCallPolicy({ root: this.root, disk: realDisk });
    const answers = [];
    for (const line of readingLines) {
      if (policy.decide('shell_exec', { command: line }).verdict.decision !== 'LOW') continue;
      answers.push({ line, answer: await this.call('shell_exec', { command: line }) });
    }
    return answers;
  }

  async remove(): Promise<void> {
    await this.executor.dispose();
    await this.#starter.dispose();
    rmSync(this.parent, { recursive: true, force: true });
  }

  exists(path: string): boolean {
    return existsSync(join(this.root, path));
  }
}
