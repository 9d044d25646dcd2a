import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ToolCallPolicy } from '@countersign/policy';
import {
  type BuiltInToolName,
  CountersignError,
  isCustomCall,
  type Preview,
  previewSchema,
} from '@countersign/protocol';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BuiltInTools } from '../built-in-tools.ts';
import { workspaceAt } from '../files/file-tools.test-data.ts';
import { realDisk } from '../real-disk.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

const at = (path: string): string => join(workspace.root, path);
const put = (path: string, content: string | Uint8Array): void => writeFileSync(at(path), content);

/** Asks the policy first, with the real disk, as the runner does. */
function decided(tool: BuiltInToolName, params: Record<string, unknown>) {
  const decision = new ToolCallPolicy({ root: workspace.root, disk: realDisk }).decide(tool, params);
  if (!decision.call || isCustomCall(decision.call)) throw new Error('not a call');
  return [decision.call, decision] as const;
}
/** A preview starts no program, except git for a commit and a push. */
function toolsIn(root: string, git: object = {}): BuiltInTools {
  const services = { workspace: workspaceAt(root) } as never;
  const repository = { ...git, workspace: workspaceAt(root) } as never;
  return new BuiltInTools({
    filesystem: services,
    command: services,
    shell: services,
    git: repository,
    lsp: services,
  });
}
const look = (tool: BuiltInToolName, params: Record<string, unknown>, git?: object) =>
  toolsIn(workspace.root, git).preview(...decided(tool, params));
const digest = (tool: BuiltInToolName, params: Record<string, unknown>) =>
  toolsIn(workspace.root).base(...decided(tool, params));
async function preview(tool: BuiltInToolName, params: Record<string, unknown>): Promise<Preview> {
  const seen = await look(tool, params);
  expect(previewSchema.parse(seen.preview)).toEqual(seen.preview);
  expect(seen.base).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(await digest(tool, params)).toBe(seen.base);
  return seen.preview;
}

describe('[AP-7] the preview of a call', () => {
  it('shows a diff for write, edit and copy', async () => {
    put('a.md', 'one\n');
    const file = { path: 'a.md', operation: 'modified', truncated: false, size_before: 4 };
    const header = '--- a/a.md\n+++ b/a.md\n';
    expect(await preview('write_file', { path: 'a.md', content: 'two\n' })).toEqual({
      kind: 'diff',
      files: [{ ...file, diff: `${header}@@ -1 +1 @@\n-one\n+two\n`, size_after: 4 }],
    });
    expect(await preview('write_file', { path: 'a.md', content: 'two\n', mode: 'append' })).toEqual({
      kind: 'diff',
      files: [{ ...file, diff: `${header}@@ -1 +1,2 @@\n one\n+two\n`, size_after: 8 }],
    });
    expect(await preview('edit_file', { path: 'a.md', old: 'one', new: 'three' })).toEqual({
      kind: 'diff',
      files: [{ ...file, diff: `${header}@@ -1 +1 @@\n-one\n+three\n`, size_after: 6 }],
    });
    put('run.sh', 'new\n');
    chmodSync(at('run.sh'), 0o755);
    expect(await preview('copy_file', { source: 'run.sh', dest: 'a.md' })).toEqual({
      kind: 'diff',
      files: [
        {
          ...file,
          diff: `old mode 100644\nnew mode 100755\n${header}@@ -1 +1 @@\n-one\n+new\n`,
          size_after: 4,
        },
      ],
    });
    expect(await preview('copy_file', { source: 'run.sh', dest: 'b.md' })).toMatchObject({
      files: [
        {
          operation: 'created',
          diff: 'new file mode 100755\n--- /dev/null\n+++ b/b.md\n@@ -0,0 +1 @@\n+new\n',
        },
      ],
    });
    expect(await preview('write_file', { path: 'n.md', content: 'x' })).toMatchObject({
      files: [{ operation: 'created', size_before: null, size_after: 1 }],
    });
  });

  it('shows the head of a file that is deleted, and a directory by its real name', async () => {
    put('a.md', `one\u202e\r\ntwo\n${'more\n'.repeat(100)}`);
    expect(await preview('delete_file', { path: 'a.md' })).toEqual({
      kind: 'delete',
      path: 'a.md',
      size: 512,
      head: `one⟨U+202E⟩\ntwo\n${'more\n'.repeat(38)}`.trimEnd(),
    });
    put('a.dat', Buffer.from('\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0', 'latin1'));
    expect(await preview('delete_file', { path: 'a.dat' })).toMatchObject({ head: '⟨binary content⟩' });
    symlinkSync('docs', at('d'));
    expect(await preview('create_directory', { path: 'd/x' })).toEqual({ kind: 'directory', path: 'docs/x' });
  });

  it('shows each program of a command, its scripts, and whether it can be undone', async () => {
    put('scripts.js', '');
    expect(await preview('execute_command', { command: 'node', args: ['scripts.js', '\u202e'] })).toEqual({
      kind: 'command',
      commands: [['node', 'scripts.js', '⟨U+202E⟩']],
      cwd: '.',
      network: false,
      reversible: false,
      scripts: ['scripts.js'],
    });
    expect(await preview('execute_command', { command: 'ls', args: [] })).toMatchObject({ reversible: true });
    expect(await preview('execute_command', { command: 'npm', args: ['install'] })).toMatchObject({
      network: true,
      scripts: ['package.json'],
    });
    mkdirSync(at('src/deep'), { recursive: true });
    put('src/deep/run.sh', 'echo');
    symlinkSync('src/deep', at('link'));
    expect(
      await preview('shell_exec', { command: 'sh ./run.sh && echo $HOME$RANDOM', cwd: 'link' }),
    ).toMatchObject({
      commands: [
        ['sh', './run.sh'],
        ['echo', null],
      ],
      cwd: 'src/deep',
      reversible: false,
      scripts: ['src/deep/run.sh'],
    });
  });

  it('says in a sentence what changes no file', async () => {
    const calls: [BuiltInToolName, Record<string, unknown>, string][] = [
      ['read_file', { path: 'README.md' }, 'Reads "README.md".'],
      ['list_directory', { path: 'docs' }, 'Lists "docs".'],
      ['search_files', { content: 'x' }, 'Searches in ".".'],
      ['git_status', {}, 'Reads from the git repository.'],
      ['git_branch', { name: 'x', create: true }, 'Creates the branch "x" at the current commit.'],
      ['git_branch', {}, 'Lists the branches of the git repository.'],
      ['symbols', { path: 'README.md' }, 'Asks the language server about "README.md".'],
      ['shell_output', { job_id: 'j1' }, 'Reads what the background job j1 has printed.'],
      ['shell_kill', { job_id: 'j1' }, 'Ends the background job j1.'],
    ];
    for (const [tool, params, summary] of calls)
      expect(await preview(tool, params)).toEqual({ kind: 'summary', summary });
  });

  it('[VA-2] shows nothing of a file that policy has not judged', async () => {
    put('.env', 'TOKEN=CANARY');
    put('plan.md', 'x');
    const calls: [BuiltInToolName, Record<string, unknown>][] = [
      ['write_file', { path: 'plan.md', content: 'y' }],
      ['copy_file', { source: 'plan.md', dest: 'copy.md' }],
      ['copy_file', { source: 'README.md', dest: 'plan.md' }],
      ['move_file', { source: 'README.md', dest: 'plan.md' }],
      ['create_directory', { path: 'made/here' }],
    ];
    const judged = calls.map((call) => decided(...call));
    rmSync(at('plan.md'));
    symlinkSync('.env', at('plan.md'));
    mkdirSync(at('.ssh'));
    symlinkSync('.ssh', at('made'));
    for (const call of judged) {
      const refusal = { code: 'APPROVAL_STALE', message: expect.not.stringContaining('CANARY') };
      await expect(toolsIn(workspace.root).preview(...call)).rejects.toMatchObject(refusal);
      await expect(toolsIn(workspace.root).base(...call)).rejects.toMatchObject(refusal);
    }
  });

  it('[AP-7] fails with a reason if it cannot be made', async () => {
    put('a.md', 'one');
    await expect(look('edit_file', { path: 'a.md', old: 'x', new: 'y' })).rejects.toMatchObject({
      code: 'EDIT_NO_MATCH',
    });
    put('big.py', '');
    truncateSync(at('big.py'), 101 * 1024 * 1024);
    await expect(look('execute_command', { command: 'python3', args: ['big.py'] })).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
    });
    await expect(look('shell_exec', { command: 'ls', cwd: 'README.md' })).rejects.toMatchObject({
      code: 'NOT_A_DIRECTORY',
    });
    const failing = async () => {
      throw new CountersignError('NOT_A_REPOSITORY');
    };
    await expect(look('git_push', {}, { open: failing })).rejects.toMatchObject({
      code: 'NOT_A_REPOSITORY',
    });
    const broken = { open: () => Promise.reject(new TypeError('a bug')) };
    await expect(look('git_push', {}, broken)).rejects.toThrow('a bug');
  });
});

describe('[AP-8] the digest of a call', () => {
  type Call = [BuiltInToolName, Record<string, unknown>];
  /** Whether a change on the disk changes the digest of a call. */
  async function changes(call: Call, change: () => void, changed: Call = call): Promise<boolean> {
    const before = await digest(...call);
    expect(await digest(...call)).toBe(before);
    change();
    return (await digest(...changed)) !== before;
  }
  const nothing = (): void => {};

  it('covers the tool and its parameters, defaults filled in', async () => {
    const write: Call = ['write_file', { path: 'a.md', content: 'x' }];
    expect(await changes(write, nothing, ['write_file', { path: 'a.md', content: 'y' }])).toBe(true);
    expect(await changes(write, nothing, ['write_file', { path: 'b.md', content: 'x' }])).toBe(true);
    expect(await changes(write, nothing, ['write_file', { ...write[1], mode: 'append' }])).toBe(true);
    expect(await changes(write, nothing, ['write_file', { mode: 'write', content: 'x', path: 'a.md' }])).toBe(
      false,
    );
    expect(
      await changes(['shell_exec', { command: 'ls' }], nothing, ['shell_background', { command: 'ls' }]),
    ).toBe(true);
    expect(
      await changes(['execute_command', { command: 'ls', args: [] }], nothing, [
        'execute_command',
        { command: 'ls', args: [], timeout: 31 },
      ]),
    ).toBe(true);
  });

  it('covers the base version of the file that changes, and no other', async () => {
    put('a.md', 'one');
    const calls: Call[] = [
      ['write_file', { path: 'a.md', content: 'x' }],
      ['edit_file', { path: 'a.md', old: 'one', new: 'x' }],
      ['copy_file', { source: 'README.md', dest: 'a.md' }],
      ['delete_file', { path: 'a.md' }],
    ];
    for (const call of calls) {
      put('a.md', 'one');
      expect(await changes(call, () => put('a.md', 'one!'))).toBe(true);
      put('a.md', 'one');
      expect(await changes(call, () => put('b.md', `${Math.random()}`))).toBe(false);
      expect(await changes(call, () => utimesSync(at('a.md'), 1, 1))).toBe(false);
      expect(await changes(call, () => chmodSync(at('a.md'), 0o600))).toBe(false);
      expect(
        await changes(call, () => {
          put('c.md', 'one');
          renameSync(at('c.md'), at('a.md'));
        }),
      ).toBe(false);
    }
  });

  it('knows a missing file from an empty one', async () => {
    expect(await changes(['write_file', { path: 'n.md', content: 'x' }], () => put('n.md', ''))).toBe(true);
    expect(await changes(['create_directory', { path: 'n' }], () => mkdirSync(at('n')))).toBe(true);
    expect(
      await changes(['execute_command', { command: 'node', args: ['n.js'] }], () => put('n.js', '')),
    ).toBe(true);
  });

  it('covers what is copied, with its permissions', async () => {
    put('a.sh', 'one');
    const copy: Call = ['copy_file', { source: 'a.sh', dest: 'b.sh' }];
    expect(await changes(copy, () => put('a.sh', 'two'))).toBe(true);
    expect(await changes(copy, () => chmodSync(at('a.sh'), 0o755))).toBe(true);
    expect(await changes(copy, () => utimesSync(at('a.sh'), 1, 1))).toBe(false);
  });

  it('covers where a link leads', async () => {
    put('a.md', 'same');
    put('b.md', 'same');
    symlinkSync('a.md', at('link.md'));
    const write: Call = ['write_file', { path: 'link.md', content: 'x' }];
    expect(
      await changes(write, () => {
        rmSync(at('link.md'));
        symlinkSync('b.md', at('link.md'));
      }),
    ).toBe(true);
    mkdirSync(at('one'));
    mkdirSync(at('two'));
    symlinkSync('one', at('cwd'));
    expect(
      await changes(['shell_exec', { command: 'ls', cwd: 'cwd' }], () => {
        rmSync(at('cwd'));
        symlinkSync('two', at('cwd'));
      }),
    ).toBe(true);
  });

  it('covers the workspace and the network', async () => {
    const other = temporaryWorkspace();
    const [call, decision] = decided('shell_exec', { command: 'ls' });
    const here = await toolsIn(workspace.root).base(call, decision);
    expect(await toolsIn(other.root).base(call, decision)).not.toBe(here);
    other.remove();
    const { verdict } = decision;
    if (verdict.decision === 'REJECT') throw new Error('refused');
    const online = { ...decision, verdict: { ...verdict, network: !verdict.network } };
    expect(await toolsIn(workspace.root).base(call, online)).not.toBe(here);
  });

  const command = (program: string, ...args: string[]): Call => [
    'execute_command',
    { command: program, args },
  ];
  const shell = (line: string): Call => ['shell_exec', { command: line }];
  it.each<[Call, string]>([
    [shell('npm test'), 'package.json'],
    [shell('yarn build'), 'package.json'],
    [shell('npm --prefix sub test'), 'sub/package.json'],
    [shell('npm ci'), 'package-lock.json'],
    [shell('npx tsc'), 'package.json'],
    [shell('npx tsc'), 'node_modules/.bin/tsc'],
    [command('npm', 'ci'), 'package-lock.json'],
    [command('npm', 'exec', 'tsc'), 'node_modules/.bin/tsc'],
    [shell('make'), 'Makefile'],
    [shell('make -C sub all'), 'sub/Makefile'],
    [command('python3', '-m', 'a'), 'a.py'],
    [command('python3', '-m', 'sub.a'), 'sub/a/__main__.py'],
    [command('python3', '-m', 'pytest', 'sub/test_a.py::test_b'), 'sub/test_a.py'],
    [command('python3', '-m', 'unittest', 'sub.test_a'), 'sub/test_a.py'],
    [shell('python3 -m a'), 'a.py'],
    [command('node', 'a'), 'a.js'],
    [command('node', 'a'), 'a/index.js'],
    [command('node', '--require', './a', 'b.js'), 'a.js'],
    [shell('node a'), 'a.js'],
    [shell('cat run.sh | sh'), 'run.sh'],
    [shell('head -5 run.sh | tee log | bash -s'), 'run.sh'],
    [shell('cat a.py | python3 -'), 'a.py'],
    [shell('eval "$(cat run.sh)"'), 'run.sh'],
    [shell('bash -c "$(< run.sh)"'), 'run.sh'],
    [shell('bash <(cat run.sh)'), 'run.sh'],
    [shell('cp run.sh other.sh; bash other.sh'), 'run.sh'],
    [shell('cat a.py > b.py && python3 b.py'), 'a.py'],
    [command('git', 'commit', '-m', 'x'), '.git/hooks/pre-commit'],
    [command('git', '-C', 'sub', 'commit', '-m', 'x'), '.git/hooks/commit-msg'],
    [command('git', 'push'), '.git/hooks/pre-push'],
    [command('git', 'commit', '-m', 'x'), '.husky/pre-commit'],
    [command('git', 'commit', '-m', 'x'), 'tools/hooks/pre-commit'],
    [shell('git commit -m x'), '.git/hooks/pre-commit'],
  ])('covers what %j executes without naming it: %s', async (call, script) => {
    put('.git/config', '[core]\n\thooksPath = tools/hooks\n');
    mkdirSync(dirname(at(script)), { recursive: true });
    mkdirSync(at('sub'), { recursive: true });
    const content = (text: string) => (script.endsWith('.json') ? `{"scripts": {"test": "${text}"}}` : text);
    // The digest changes if the script changes, disappears or appears.
    put(script, content('one'));
    expect(await changes(call, () => put(script, content('two')))).toBe(true);
    expect(await changes(call, () => rmSync(at(script)))).toBe(true);
    expect(await changes(call, () => put(script, content('one')))).toBe(true);
    // The preview says that the script is executed.
    const shown = await preview(...call);
    const folder = dirname(script);
    expect(shown.kind === 'command' && shown.scripts.some((one) => one === script || one === folder)).toBe(
      true,
    );
  });

  it.each([
    '[core] hooksPath = tools/hooks',
    '[core]\n\thooksPath = tools/hooks # ours',
    '[core]\n\tHooksPath = "tools"/hooks ; ours\n[user]\n\tname = x',
    '[core]\n\thooksPath = tools/\\\nhooks\n',
    '[core]\r\n\thooksPath = tools/hooks\r\n',
    '[include]\n\tpath = ../tools/more.config\n',
    '[includeIf "gitdir:**"]\n\tpath = ../tools/more.config\n',
  ])('covers the hooks that git finds by %j', async (config) => {
    mkdirSync(at('tools/hooks'), { recursive: true });
    put('tools/more.config', '[core] hooksPath = tools/hooks');
    execFileSync('git', ['init', '--quiet', workspace.root]);
    put('.git/config', config);
    put('tools/hooks/pre-commit', 'one');
    const found = execFileSync('git', ['-C', workspace.root, 'config', '--includes', 'core.hooksPath']);
    expect(found.toString()).toBe('tools/hooks\n');
    const call = command('git', 'commit', '-m', 'x');
    expect(await changes(call, () => put('tools/hooks/pre-commit', 'two'))).toBe(true);
    if (config.includes('more.config'))
      expect(await changes(call, () => put('tools/more.config', '[core]\n\tfsmonitor = evil'))).toBe(true);
  });

  it.each<[Call, string]>([
    [command('git', 'status'), '.git/hooks/pre-commit'],
    [command('node', 'b.js'), 'a.js'],
    [shell('cat notes.md | wc -l'), 'notes.md'],
  ])('does not cover what %j does not execute: %s', async (call, file) => {
    put('b.js', '');
    mkdirSync(dirname(at(file)), { recursive: true });
    put(file, 'one');
    expect(await changes(call, () => put(file, 'two'))).toBe(false);
  });

  it.each<[string, Call, string]>([
    ['a node script', ['execute_command', { command: 'node', args: ['run.js'] }], 'run.js'],
    ['a python script', ['execute_command', { command: 'python3', args: ['run.py'] }], 'run.py'],
    ['the scripts of npm', ['execute_command', { command: 'npm', args: ['test'] }], 'package.json'],
    ['a script in a shell line', ['shell_exec', { command: 'cd . && bash run.sh' }], 'run.sh'],
    ['a script in the background', ['shell_background', { command: './run.sh' }], 'run.sh'],
  ])('covers %s', async (_name, call, script) => {
    put(script, '{"scripts": {"test": "1"}}');
    chmodSync(at(script), 0o755);
    expect(await changes(call, () => put(script, '{"scripts": {"test": "2"}}'))).toBe(true);
    expect(await changes(call, () => put('data.txt', 'x'))).toBe(false);
  });

  it('covers the files of a directory that is executed', async () => {
    mkdirSync(at('app/lib'), { recursive: true });
    put('app/index.js', '1');
    put('app/large.bin', '');
    truncateSync(at('app/large.bin'), 2 * 1024 * 1024);
    symlinkSync('index.js', at('app/link.js'));
    const call: Call = ['execute_command', { command: 'node', args: ['app'] }];
    expect(await changes(call, () => put('app/index.js', '2'))).toBe(true);
    expect(await changes(call, () => put('app/other.js', '3'))).toBe(true);
    expect(await changes(call, () => truncateSync(at('app/large.bin'), 3 * 1024 * 1024))).toBe(true);
    expect(
      await changes(call, () => {
        rmSync(at('app/link.js'));
        symlinkSync('other.js', at('app/link.js'));
      }),
    ).toBe(true);
    expect(await changes(call, () => put('app/lib/deeper.js', 'x'))).toBe(false);
    expect(await changes(call, () => put('elsewhere.js', 'x'))).toBe(false);
    const root: Call = ['execute_command', { command: 'node', args: ['.'] }];
    expect(await changes(root, () => put('index.js', 'x'))).toBe(true);
  });

  it('reads no file for a call that only reads', async () => {
    expect(await changes(['read_file', { path: 'README.md' }], () => put('README.md', 'x'))).toBe(false);
    expect(
      await changes(['execute_command', { command: 'cat', args: ['README.md'] }], () =>
        put('README.md', 'y'),
      ),
    ).toBe(false);
  });
});
