import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ToolCallPolicy } from '@countersign/policy';
import { parseToolCall } from '@countersign/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BuiltInTools } from '../built-in-tools.ts';
import type { ToolResult } from '../executor.ts';
import { GitRepository } from '../git/git-repository.ts';
import { cannotIsolate, IsolationFixture } from '../isolation/isolation-fixture.test-data.ts';
import { realDisk } from '../real-disk.ts';
import { BackgroundJobs } from './background-jobs.ts';
import { writesOfLine } from './git-writes.ts';

const readLine = (root: string, command: string) =>
  new ToolCallPolicy({ root, disk: realDisk }).decide('shell_exec', { command });

describe('[VA-3] what a shell line may write of .git', () => {
  const writesOf = (line: string) => writesOfLine(line, readLine('/nowhere', line).details);

  it.each([
    'git add . && git commit -m "two words"',
    "cd src && git add -A && git commit -m 'x' && git log -1",
    'npm test && git commit -am x',
    'git add a.txt; git status | head -3',
    'git switch -c topic && touch a',
    'git checkout main && make',
    'git checkout -q -- notes.md && rm docs.md',
    'git pull && npm ci',
    'git stash && make; git stash pop',
    'git -C . add . && make',
    'git reset --hard && make',
    'git commit -m "$(date)" && make',
    'find . -name x | xargs git add',
    'GIT_DIR=sub/.git git add . && make',
    'PATH=.:$PATH git add .',
    'git merge x && echo "[core]" > notes.txt',
    "GIT_EDITOR='sed -i s/a/b/' git commit",
    'git() { npm x; }; git merge x',
  ])('%s: the data', (line) => {
    expect(writesOf(line)).toBe('data');
  });

  it.each([
    'git switch -q main && git merge -q --no-edit topic && git log -1 | head -3',
    'git fetch && git rebase origin/main 2>&1 | tail -5 || git status',
    'git config user.name Ada && git add . > /dev/null',
    'GIT_EDITOR=true git rebase --continue',
  ])('%s: what each call may write alone, because nothing else runs', (line) => {
    expect(writesOf(line)).toBe('everything');
  });

  it('git am writes no more beside others than alone', () => {
    expect(writesOf('git am x.patch && git switch main')).toBe('patches');
  });

  it.each([
    "git -c 'alias.x=!echo > .envrc' x",
    'git rebase --exec "sh plant.sh" main',
    'git rebase -ix "sh plant.sh" main',
    "git submodule foreach 'sh ../plant.sh'",
    'git bisect run sh plant.sh',
    'git filter-branch --tree-filter "sh plant.sh"',
    'git --exec-path=tools rebase main',
  ])('%s: no new place, because git runs a program that the line names', (line) => {
    expect(writesOf(line)).toBe('patches');
  });

  it.each([
    'make && echo git',
    'git add . && git config user.name x && make',
    'git add . && git clone https://example.org/x y && make',
    'git rebase main && make',
    'git frobnicate | tee x',
    'git rebase main > log',
    'PATH=.:$PATH git rebase main',
    'x=rebase; git $x main; $z',
    'git $(cat call)',
    'git --exec-path=. add . && make',
    './git add . && git commit -m x',
    'git config core.pager x && cat > .git/config <<< x',
  ])('%s: nothing', (line) => {
    expect(writesOf(line)).toBeUndefined();
  });

  it('a line that is one plain call is that call', () => {
    expect(writesOf('git rebase main')).toBe('everything');
    expect(writesOf('git am x.patch')).toBe('patches');
    expect(writesOf("git commit -m 'one'")).toBe('data');
  });
});

describe.skipIf(cannotIsolate)('git in a shell line', () => {
  let fixture: IsolationFixture;
  let tools: BuiltInTools;
  beforeEach(() => {
    fixture = new IsolationFixture({ killDelayMs: 300 });
    const { workspace, starter } = fixture;
    const jobs = new BackgroundJobs(starter, workspace.limits.outputStreamBytes);
    const git = new GitRepository(workspace, starter);
    tools = new BuiltInTools({ shell: { workspace, starter, git, jobs }, command: { workspace, starter } });
    person('init', '--quiet', '--initial-branch=main', '.');
    person('config', 'user.name', 'Ada');
    person('config', 'user.email', 'ada@example.org');
  });
  afterEach(async () => {
    await tools.dispose();
    await fixture.remove();
  });

  const person = (...args: string[]): string =>
    execFileSync('git', ['-C', fixture.root, ...args], { encoding: 'utf8' });
  const run = async (tool: string, params: object): Promise<ToolResult> => {
    const parsed = parseToolCall(tool, { timeout: 200, ...params });
    if (!parsed.ok) throw new Error(parsed.error.message);
    const { details, verdict } = new ToolCallPolicy({ root: fixture.root, disk: realDisk }).decide(
      tool,
      params,
    );
    return tools.execute(parsed.call as Parameters<BuiltInTools['execute']>[0], {
      toolId: 'tool-1',
      attempt: 1,
      sessionId: 'session-1',
      riskLevel: verdict.decision === 'LOW' ? 'LOW' : 'HIGH',
      network: false,
      details,
      signal: new AbortController().signal,
      onProgress: () => {},
      changes: { begin: () => {} },
    });
  };
  const exec = (command: string) => run('shell_exec', { command });

  it('[VA-3] adds, commits, makes a branch and stashes, and its hooks run as they do elsewhere', async () => {
    fixture.write('a.txt', 'one\n');
    fixture.write('.git/hooks/commit-msg', '#!/bin/sh\necho "by a hook" >> "$1"\n');
    chmodSync(join(fixture.root, '.git/hooks/commit-msg'), 0o755);
    expect(
      await exec("git add . && git commit -qm 'first commit' && git switch -qc topic && git log --format=%B"),
    ).toMatchObject({ success: true, stdout: 'first commit\nby a hook\n\n' });
    fixture.write('a.txt', 'two\n');
    expect(await exec('git stash -q && cat a.txt && git stash pop -q && cat a.txt')).toMatchObject({
      stdout: 'one\ntwo\n',
    });
    expect(person('branch', '--show-current')).toBe('topic\n');
  });

  it('[VA-3] git leaves alone the empty folders that are there only while a command runs', async () => {
    fixture.write('a.txt', 'one\n');
    await exec('git add . && git commit -qm first');
    fixture.write('b.txt', 'two\n');
    fixture.write('.github/dependabot.yml', 'version: 2\n');
    expect(await exec('git clean -nd')).toMatchObject({
      stdout: 'Would remove .github/dependabot.yml\nWould remove b.txt\n',
    });
    expect(await exec('git stash -q -u && ls && git stash pop -q > /dev/null && cat b.txt')).toMatchObject({
      success: true,
      stdout: 'a.txt\ntwo\n',
      stderr: '',
    });
    // A folder of that name that was there before is not ignored.
    fixture.write('.vscode/settings.json', '{}\n');
    expect(await exec('git add -A && git status --short')).toMatchObject({
      stdout: 'A  .github/dependabot.yml\nA  .vscode/settings.json\nA  b.txt\n',
    });
  });

  it('[VA-3] configuration and hooks stay out of reach of every program of such a line', async () => {
    const config = readFileSync(join(fixture.root, '.git/config'), 'utf8');
    fixture.write('a.txt', 'one\n');
    const result = await exec(
      "git add a.txt; echo '[core] pager = evil' >> .git/config; echo evil > .git/hooks/pre-commit; rm -f .git/config",
    );
    expect(result.success).toBe(false);
    expect(person('diff', '--cached', '--name-only')).toBe('a.txt\n');
    expect(readFileSync(join(fixture.root, '.git/config'), 'utf8')).toBe(config);
    expect(fixture.has('.git/hooks/pre-commit')).toBe(false);
  });

  it('[VA-3] what a checkout brings to a place that executes later stays out beside other programs', async () => {
    fixture.write('a.txt', 'one\n');
    await exec('git add . && git commit -qm first && git switch -qc topic');
    fixture.write('.vscode/tasks.json', '{}\n');
    fixture.write('.envrc', 'evil\n');
    fixture.write('a.txt', 'two\n');
    person('add', '-A');
    person('commit', '-qm', 'second');
    person('checkout', '-q', 'main');
    const mixed = await exec('git checkout -q topic; node -e 1');
    expect(String(mixed.stderr)).toMatch(/"\.envrc" would execute later; it was set aside/);
    expect(fixture.has('.vscode/tasks.json')).toBe(false);
    expect(fixture.has('.envrc')).toBe(false);
    person('checkout', '-qf', 'main');
    expect(await exec('git checkout -q topic; cat a.txt')).toMatchObject({ success: true, stdout: 'two\n' });
    expect(fixture.has('.envrc')).toBe(true);
  });

  it('[VA-3] no file of the workspace that git checks out leads a reader of the line to the configuration', async () => {
    const config = readFileSync(join(fixture.root, '.git/config'), 'utf8');
    fixture.write('a.txt', 'one\n');
    await exec('git add . && git commit -qm first && git switch -qc evil');
    symlinkSync('.git/config', join(fixture.root, 'notes.txt'));
    symlinkSync('.git/hooks', join(fixture.root, 'docs'));
    person('add', '-A');
    person('commit', '-qm', 'links');
    person('checkout', '-q', 'main');
    await exec('git switch -q evil && echo "[core] pager = evil" >> notes.txt; echo evil > docs/pre-commit');
    await exec('git switch -q evil; git log | tee -a notes.txt docs/post-commit');
    expect(readFileSync(join(fixture.root, '.git/config'), 'utf8')).toBe(config);
    expect(fixture.has('.git/hooks/pre-commit')).toBe(false);
    expect(fixture.has('.git/hooks/post-commit')).toBe(false);
  });

  it('[RN-5] says that a command may have only so much memory and time, and that it cannot trace others', async () => {
    const memory = await exec(
      'echo "==10==ERROR: AddressSanitizer failed to allocate 0xdfff0001000" >&2; false',
    );
    expect(memory.stderr).toContain('"commands": {"memoryBytes": …} in runner.json');
    const time = await exec('kill -XCPU $$');
    expect(time.stderr).toContain('"commands": {"cpuSeconds": …} in runner.json');
    const trace = await exec('echo "ptrace: Operation not permitted." >&2; false');
    expect(trace.stderr).toContain('cannot trace other programs');
  });

  it.each([
    [
      'echo x >> .git/config',
      /"\.git\/config" executes later \(part of the git repository itself.*write_file/,
    ],
    [
      'echo x > .git/hooks/pre-commit',
      /"\.git\/hooks\/pre-commit" executes later \(part of the git repository.*the person is asked/,
    ],
    [
      'mkdir -p .github/workflows && echo x > .github/workflows/ci.yml',
      /"\.github\/workflows\/ci\.yml" executes later \(workflow/,
    ],
    [
      'git add . && git gc -q && git frobnicate && make',
      /"\.git\/index\.lock" is of git's own data.*: run this git command alone, or in a line of git commands/,
    ],
    ['touch /usr/x', /"\/usr\/x" is outside the workspace.*in \/tmp/],
    [
      `node -e "require('fs').writeFileSync('.vscode/x', '')"`,
      /"\.vscode\/x" executes later \(editor or agent configuration/,
    ],
  ])('[RN-5] says why %s failed, and how to do it', async (line, note) => {
    fixture.write('a.txt', 'one\n');
    const result = await exec(line);
    expect(result.success).toBe(false);
    expect(String(result.stderr)).toMatch(note);
  });

  it('says nothing about a failure that isolation did not make, or where all went well', async () => {
    writeFileSync(join(fixture.root, 'read.txt'), 'Read-only file system\n');
    expect(await exec('ls missing')).toMatchObject({ stderr: expect.not.stringContaining('Countersign') });
    expect(await run('execute_command', { command: 'cat', args: ['read.txt'] })).toMatchObject({
      success: true,
      stderr: '',
    });
  });

  it('[VA-2] says which hidden file a command that ran unasked had named', async () => {
    fixture.write('sub/.env', 'KEY=1\n');
    const result = await run('execute_command', {
      command: 'grep',
      args: ['-rL', 'nothing', 'sub', 'missing'],
    });
    expect(result).toMatchObject({
      success: false,
      stderr: expect.stringContaining('"sub/.env" is hidden from commands that run unasked'),
    });
  });

  it("[RN-6] says how to reach a remote that asks for the person's login", async () => {
    const result = await exec(
      'echo "fatal: could not read Username for \'https://x\': terminal prompts disabled" >&2; false',
    );
    expect(result.stderr).toContain('git_push sends with it');
  });
});
