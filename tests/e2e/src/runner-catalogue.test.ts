import { chmodSync, chownSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { catalogue } from '@countersign/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../lab/src/waiting.ts';
import { RunnerServer, RunnerStory, whyNotAs } from './runner/runner-story.ts';

/** Every tool of the catalogue, called by an agent over REST and executed by `countersign connect` in a real folder. */

let server: RunnerServer;
beforeAll(async () => {
  server = await RunnerServer.start();
});
afterAll(() => server?.close());

const ordinaryUid = 65_534;
const users = [
  { who: 'whoever runs the tests', uid: undefined, why: undefined },
  { who: 'an ordinary user', uid: ordinaryUid, why: whyNotAs(ordinaryUid) },
];

for (const { who, uid, why } of users) {
  describe.skipIf(why !== undefined)(`as ${who}${why === undefined ? '' : `: skipped, ${why}`}`, () => {
    let story: RunnerStory;
    const called = new Set<string>();
    const call = (tool: string, params: object) => {
      called.add(tool);
      return story.call(tool, params);
    };
    const codeOf = async (tool: string, params: object) => (await call(tool, params)).code;
    /** The result of a call, which must succeed. */
    const resultOf = async (tool: string, params: object) => {
      const ended = await call(tool, params);
      expect(ended).toMatchObject({ status: 'completed', result: { success: true } });
      return ended.result;
    };

    beforeAll(async () => {
      story = await RunnerStory.open(server, `catalogue-${uid ?? 'us'}`, uid === undefined ? {} : { uid });
      story.write('README.md', '# Hello\nsecond line\nthird line\n');
      story.write('src/app.ts', "import { add } from './add';\nexport const total: number = add(1, 2);\n");
      story.write('src/add.ts', 'export function add(a: number, b: number): number {\n  return a + b;\n}\n');
      story.write('src/broken.ts', "export const n: number = 'text';\n");
      story.write('tool.py', 'def double(x: int) -> int:\n    return x * 2\n\n\nprint(double(21))\n');
      story.write('tsconfig.json', '{"compilerOptions": {"strict": true}, "include": ["src"]}');
      story.write('.env', 'TOKEN=CANARY\n');
      story.write('blob.bin', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1, 2]));
      await story.startRunner();
    });
    afterAll(() => story?.close());

    it('[TL-2] read_file: a whole file, a range, and files that cannot be read', async () => {
      expect(await resultOf('read_file', { path: 'README.md' })).toEqual({
        success: true,
        content: '# Hello\nsecond line\nthird line\n',
        encoding: 'utf-8',
        size: 31,
        truncated: false,
      });
      const range = { path: 'README.md', start_line: 2, end_line: 2 };
      expect((await resultOf('read_file', range)).content).toBe('second line\n');
      expect(await codeOf('read_file', { path: 'none.md' })).toBe('FILE_NOT_FOUND');
      expect(await codeOf('read_file', { path: 'src' })).toBe('IS_A_DIRECTORY');
      expect(await codeOf('read_file', { path: '../auditHead.log' })).toBe('PATH_OUTSIDE_WORKSPACE');
      expect(await codeOf('read_file', { path: '.env' })).toBe('PATH_SENSITIVE');
      expect(await codeOf('read_file', { path: 'blob.bin' })).toBe('BINARY_FILE');
      expect(await codeOf('read_file', { path: 'README.md', lines: 3 })).toBe('INVALID_PARAMS');
    });

    it('[TL-2] write_file: new, replaced and appended files; and where it may not write', async () => {
      const created = await resultOf('write_file', { path: 'notes/a.md', content: 'one\n' });
      expect(created).toEqual({
        success: true,
        path: 'notes/a.md',
        size: 4,
        changed_files: [{ path: 'notes/a.md', operation: 'created' }],
      });
      expect(statSync(story.at('notes/a.md')).uid).toBe(uid ?? process.getuid?.());
      await resultOf('write_file', { path: 'notes/a.md', content: 'two\n', mode: 'append' });
      expect(story.read('notes/a.md')).toBe('one\ntwo\n');
      const replaced = await resultOf('write_file', { path: 'notes/a.md', content: 'three\n' });
      expect(replaced.changed_files).toEqual([{ path: 'notes/a.md', operation: 'modified' }]);
      await resultOf('write_file', { path: 'run.sh', content: 'echo ran\n' });
      expect(await codeOf('write_file', { path: 'tool.exe', content: '' })).toBe('EXTENSION_REFUSED');
      expect(await codeOf('write_file', { path: 'src', content: '' })).toBe('IS_A_DIRECTORY');
      expect(await codeOf('write_file', { path: '../a.md', content: '' })).toBe('PATH_OUTSIDE_WORKSPACE');
      expect(await codeOf('write_file', { path: 'README.md/a.md', content: '' })).toBe('NOT_A_DIRECTORY');
      expect(existsSync(story.at('../a.md'))).toBe(false);
    });

    it.skipIf(uid === undefined && process.getuid?.() === 0)(
      '[TL-2] reports what the system does not permit, and changes nothing (root may do everything)',
      async () => {
        story.write('closed.md', 'mine\n', 0o000);
        expect(await codeOf('read_file', { path: 'closed.md' })).toBe('PERMISSION_DENIED');
        mkdirSync(story.at('theirs'));
        chownSync(story.at('theirs'), 0, 0);
        expect(await codeOf('write_file', { path: 'theirs/a.md', content: 'x' })).toBe('PERMISSION_DENIED');
        chmodSync(story.at('closed.md'), 0o644);
        expect(story.read('closed.md')).toBe('mine\n');
      },
    );

    it('[TL-2] edit_file: exactly one place, or all; 0 or several matches are an error', async () => {
      story.write('edit.md', 'a\nb\na\n');
      await resultOf('edit_file', { path: 'edit.md', old: 'b', new: 'c' });
      expect(await codeOf('edit_file', { path: 'edit.md', old: 'a', new: 'x' })).toBe('EDIT_AMBIGUOUS');
      expect(await codeOf('edit_file', { path: 'edit.md', old: 'zzz', new: 'x' })).toBe('EDIT_NO_MATCH');
      expect(await codeOf('edit_file', { path: 'none.md', old: 'a', new: 'x' })).toBe('FILE_NOT_FOUND');
      await resultOf('edit_file', { path: 'edit.md', old: 'a', new: 'x', replace_all: true });
      expect(story.read('edit.md')).toBe('x\nc\nx\n');
    });

    it('[TL-2] search_files and list_directory, without sensitive files', async () => {
      const byName = await resultOf('search_files', { pattern: '*.ts', path: 'src' });
      expect(byName.files.map(({ path }: { path: string }) => path).sort()).toEqual([
        'src/add.ts',
        'src/app.ts',
        'src/broken.ts',
      ]);
      const byContent = await resultOf('search_files', { content: 'export function' });
      expect(byContent.files).toMatchObject([
        { path: 'src/add.ts', matches: [{ line: 1, text: expect.stringContaining('function add') }] },
      ]);
      expect((await resultOf('search_files', { content: 'CANARY' })).files).toEqual([]);
      expect(await codeOf('search_files', { content: '(' })).toBe('PATTERN_INVALID');
      expect(await codeOf('search_files', { pattern: '*', path: 'none' })).toBe('FILE_NOT_FOUND');
      expect(await codeOf('search_files', {})).toBe('INVALID_PARAMS');
      const listed = await resultOf('list_directory', { path: 'src' });
      expect(listed).toMatchObject({ total_count: 3, truncated: false });
      expect((await resultOf('list_directory', { path: '.', pattern: '.*' })).files).not.toContainEqual(
        expect.objectContaining({ name: '.env' }),
      );
      expect(await codeOf('list_directory', { path: 'README.md' })).toBe('NOT_A_DIRECTORY');
      expect(await codeOf('list_directory', { path: 'none' })).toBe('FILE_NOT_FOUND');
    });

    it('[TL-2] create_directory, copy_file, move_file and delete_file', async () => {
      await resultOf('create_directory', { path: 'made/deep' });
      expect(statSync(story.at('made/deep')).isDirectory()).toBe(true);
      expect(await codeOf('create_directory', { path: 'README.md' })).toBe('FILE_EXISTS');
      const copied = await resultOf('copy_file', { source: 'README.md', dest: 'made/copy.md' });
      expect(copied.size).toBe(31);
      expect(story.read('made/copy.md')).toBe(story.read('README.md'));
      expect(await codeOf('copy_file', { source: 'none.md', dest: 'b.md' })).toBe('FILE_NOT_FOUND');
      expect(await codeOf('copy_file', { source: '.env', dest: 'b.md' })).toBe('PATH_SENSITIVE');
      const moved = await resultOf('move_file', { source: 'made/copy.md', dest: 'made/moved.md' });
      expect(moved.changed_files).toEqual([
        { path: 'made/moved.md', operation: 'created' },
        { path: 'made/copy.md', operation: 'deleted' },
      ]);
      expect(await codeOf('move_file', { source: 'made/moved.md', dest: 'made/x.so' })).toBe(
        'EXTENSION_REFUSED',
      );
      await resultOf('move_file', { source: 'made/moved.md', dest: 'made/copy.md' });
      const deleted = await resultOf('delete_file', { path: 'made/copy.md' });
      expect(deleted.changed_files).toEqual([{ path: 'made/copy.md', operation: 'deleted' }]);
      expect(existsSync(story.at('made/copy.md'))).toBe(false);
      expect(await codeOf('delete_file', { path: 'made/copy.md' })).toBe('FILE_NOT_FOUND');
      expect(await codeOf('delete_file', { path: 'made' })).toBe('IS_A_DIRECTORY');
      expect(await codeOf('delete_file', { path: '.' })).toBe('PATH_IS_ROOT');
    });

    it('[TL-2] execute_command: harmless ones run at once, others need approval, and failures say why', async () => {
      const listed = await resultOf('execute_command', { command: 'ls', args: ['src'] });
      expect(listed).toMatchObject({ stdout: 'add.ts\napp.ts\nbroken.ts\n', exit_code: 0 });
      story.write('script.js', 'console.log("hello"); console.error("there");\n');
      const ran = await resultOf('execute_command', { command: 'node', args: ['script.js'] });
      expect(ran).toMatchObject({ stdout: 'hello\n', stderr: 'there\n', exit_code: 0 });
      const python = await resultOf('execute_command', { command: 'python3', args: ['tool.py'] });
      expect(python.stdout).toBe('42\n');
      const exited = await call('execute_command', { command: 'ls', args: ['none'] });
      expect(exited).toMatchObject({ status: 'completed', result: { success: false, exit_code: 2 } });
      expect((await story.look(exited.toolId)).execution).toMatchObject({ error: null, exit_code: 2 });
      story.write('slow.js', 'setTimeout(() => {}, 600_000);\n');
      const slow = await call('execute_command', { command: 'node', args: ['slow.js'], timeout: 1 });
      expect(slow).toMatchObject({ status: 'failed', code: 'COMMAND_TIMEOUT', result: { stdout: '' } });
      expect(await codeOf('execute_command', { command: 'rm', args: ['-rf', 'src'] })).toBe(
        'COMMAND_NOT_ALLOWED',
      );
      expect(await codeOf('execute_command', { command: 'ls', args: ['..'] })).toBe('PATH_OUTSIDE_WORKSPACE');
      expect(await codeOf('execute_command', { command: 'ls', args: [], timeout: 301 })).toBe(
        'TIMEOUT_TOO_LONG',
      );
    });

    it('[TL-2] [AP-9] shell_exec: output and changed files reach front ends, and it can see no token (founding documents: tool-system)', async () => {
      const ran = await resultOf('shell_exec', { command: 'cat README.md | wc -l; echo made > made.txt' });
      const changed_files = [{ path: 'made.txt', operation: 'created' }];
      expect(ran).toMatchObject({ stdout: '3\n', exit_code: 0, changed_files });
      expect(await story.person.next('file.changed', ({ path }) => path === 'made.txt')).toMatchObject({
        operation: 'created',
      });
      expect(story.read('made.txt')).toBe('made\n');
      const inSrc = await resultOf('shell_exec', { command: 'pwd', cwd: 'src' });
      expect(inSrc.stdout).toBe(`${story.at('src')}\n`);
      story.write(
        'spy.js',
        `const { readdirSync, readFileSync } = require('node:fs');
        const environments = readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).map((pid) => '/proc/' + pid + '/environ');
        for (const path of [...environments, ${JSON.stringify(`${story.home}/.gitconfig`)}]) {
          try { console.log(readFileSync(path, 'utf8')); } catch {}
        }
        console.log('looked at', environments.length > 0);`,
      );
      const seen = await resultOf('shell_exec', { command: 'env; node spy.js' });
      expect(seen.stdout).toContain('looked at true');
      expect(seen.stdout).not.toMatch(/COUNTERSIGN|ada@example/);
      const port = new URL(server.url).port;
      const reach = `node -e 'require("net").connect(${port},"127.0.0.1").on("connect",()=>console.log("reached")).on("error",()=>console.log("refused"))'`;
      expect((await resultOf('shell_exec', { command: reach })).stdout).toBe('refused\n');
      expect(await call('shell_exec', { command: 'echo no >&2; exit 3' })).toMatchObject({
        status: 'completed',
        result: { success: false, exit_code: 3, stderr: 'no\n' },
      });
      expect(await codeOf('shell_exec', { command: 'echo "' })).toBe('SHELL_SYNTAX');
      expect(await codeOf('shell_exec', { command: 'rm -rf /' })).toBe('SHELL_CATASTROPHE');
      expect(await codeOf('shell_exec', { command: 'ls', cwd: '..' })).toBe('PATH_OUTSIDE_WORKSPACE');
      expect(await codeOf('shell_exec', { command: 'sleep 60', timeout: 1 })).toBe('COMMAND_TIMEOUT');
    });

    it('[RN-5] [TL-1] network by name: the card names the hosts, and any other is held and asked about', async () => {
      // Fetches by code, because a URL among the words of curl would name its own host.
      const fetching = (url: string) =>
        `python3 -c 'import urllib.request as u; u.urlopen("${url}")' 2>&1 | tail -1`;
      const urls = ['http://named.invalid/', 'http://other.invalid:8080/', 'http://third.invalid/'];
      const command = urls.map(fetching).join('; ');
      const params = { command, network: ['NAMED.invalid.', 'пример.invalid:8443'] };
      const asked = await story.ask('shell_exec', params);
      if (typeof asked !== 'string') throw new Error(`it ended at once: ${asked.status}`);
      const untilEnd = story.approvedToTheEnd(asked);
      const held = async (host: string) => {
        called.add('reach_host');
        const { tool_id } = await story.person.next(
          'tool.approval_request',
          ({ tool_params }) => tool_params.host === host,
        );
        return story.card(tool_id);
      };
      await story.approve(await held('other.invalid:8080'));
      const third = await held('third.invalid');
      expect(third).toMatchObject({
        risk_level: 'MEDIUM',
        description: expect.stringMatching(/ wants to reach third\.invalid$/),
      });
      const { approval_id } = third;
      await story.person.client.reject({ params: { project_id: story.projectId, approval_id }, body: {} });
      const ended = await untilEnd;
      const card = story.person.all('approval.updated').findLast(({ tool_id }) => tool_id === asked);
      expect(card).toMatchObject({
        network: true,
        tool_params: { network: ['named.invalid', 'xn--e1afmkfd.invalid:8443'] },
        preview: { hosts: expect.arrayContaining(['named.invalid', 'xn--e1afmkfd.invalid:8443']) },
      });
      expect(card?.reasons).toContainEqual({
        rule: 'NET-1',
        why: 'asks for network access',
        operand: 'named.invalid, xn--e1afmkfd.invalid:8443',
      });
      // An allowed name is looked up, and .invalid does not exist.
      expect(ended.result.stdout).toMatch(/ 502: .*\n.* 502: .*\n.* 403: /);
      expect(ended.result.stderr).toContain(
        'it wanted to reach third.invalid; the person was asked and did not allow it',
      );
      expect(await codeOf('shell_exec', { command: 'ls', network: ['localhost'] })).toBe('INVALID_PARAMS');
      expect(await codeOf('shell_exec', { command: 'ls', network: ['http://a.example/'] })).toBe(
        'INVALID_PARAMS',
      );
    });

    it('[TL-2] shell_background, shell_output and shell_kill', async () => {
      const { job_id } = await resultOf('shell_background', { command: 'echo up; sleep 60' });
      const output = () => resultOf('shell_output', { job_id });
      await until(async () => (await output()).stdout === 'up\n', {
        otherwise: async () => JSON.stringify(await output()),
      });
      expect(await output()).toMatchObject({ running: true, exit_code: null });
      await resultOf('shell_kill', { job_id });
      expect(await output()).toMatchObject({ running: false });
      for (const tool of ['shell_output', 'shell_kill'])
        expect(await codeOf(tool, { job_id: 'another' })).toBe('JOB_NOT_FOUND');
      expect(await codeOf('shell_background', { command: ':(){ :|:& };:' })).toBe('SHELL_CATASTROPHE');
    });

    it('[TL-2] [RN-6] git: without a repository, then every tool on a real one', async () => {
      for (const tool of ['git_status', 'git_diff', 'git_log', 'git_branch'])
        expect([tool, await codeOf(tool, {})]).toEqual([tool, 'NOT_A_REPOSITORY']);
      story.git('init', '--quiet', '--initial-branch=main');
      story.write('.gitignore', '.env\n');
      expect(await resultOf('git_branch', {})).toMatchObject({ current: 'main', branches: [] });
      const committed = await resultOf('git_commit', {
        message: 'first',
        files: ['README.md', 'src/add.ts'],
      });
      expect(committed.commit).toMatchObject({ author: 'Ada', email: 'ada@example.org', subject: 'first' });
      expect(story.git('log', '--format=%s %an')).toBe('first Ada\n');
      expect(story.git('show', '--name-only', '--format=', 'HEAD')).toBe('README.md\nsrc/add.ts\n');
      story.write('README.md', '# Hello\nchanged\n');
      const status = await resultOf('git_status', {});
      expect(status).toMatchObject({ branch: 'main', head: committed.commit.id });
      expect(status.files).toContainEqual({ path: 'README.md', staged: null, unstaged: 'modified' });
      const diff = await resultOf('git_diff', { path: 'README.md' });
      expect(diff.files).toMatchObject([{ path: 'README.md', state: 'modified', binary: false }]);
      expect(diff.files[0].hunks[0].lines).toContain('+changed');
      const log = await resultOf('git_log', { limit: 1 });
      expect(log.commits).toMatchObject([{ id: committed.commit.id, subject: 'first' }]);
      const made = await resultOf('git_branch', { name: 'feature', create: true });
      expect(made.branches).toMatchObject([{ name: 'feature', commit: committed.commit.id }]);
      expect(await codeOf('git_branch', { name: 'feature', create: true })).toBe('GIT_FAILED');
      expect(await codeOf('git_commit', { message: 'x', files: ['none.md'] })).toMatch(
        /^(FILE_NOT_FOUND|GIT_FAILED)$/,
      );
      expect(await codeOf('git_commit', { message: 'x', files: ['../a'] })).toBe('PATH_OUTSIDE_WORKSPACE');
      expect(await codeOf('git_push', {})).toBe('GIT_FAILED');
      const remote = `${story.outside}/remote.git`;
      story.git('init', '--quiet', '--bare', remote);
      story.git('remote', 'add', 'origin', remote);
      expect(await resultOf('git_push', {})).toEqual({
        success: true,
        remote: 'origin',
        branch: 'main',
        from: null,
        to: committed.commit.id,
      });
      expect(story.git('-C', remote, 'rev-parse', 'main').trim()).toBe(committed.commit.id);
      expect(await codeOf('git_push', { remote: 'nowhere' })).toBe('GIT_FAILED');
    });

    it('[TL-2] [RN-7] the language servers answer, and a language without one is reported', async () => {
      const broken = await resultOf('diagnostics', { path: 'src/broken.ts' });
      expect(broken.diagnostics).toMatchObject([{ line: 1, severity: 'error', text: expect.any(String) }]);
      expect((await resultOf('diagnostics', { path: 'src/app.ts' })).diagnostics).toEqual([]);
      const symbols = await resultOf('symbols', { path: 'src/add.ts' });
      expect(symbols.symbols).toMatchObject([{ name: 'add', kind: 'function', line: 1 }]);
      const at = { path: 'src/app.ts', line: 2, col: 30 };
      expect((await resultOf('hover', at)).contents).toContain('add(a: number, b: number): number');
      expect((await resultOf('definition', at)).locations).toMatchObject([
        { path: 'src/add.ts', line: 1, text: expect.stringContaining('function add') },
      ]);
      expect((await resultOf('references', at)).locations.length).toBeGreaterThanOrEqual(3);
      const python = await resultOf('symbols', { path: 'tool.py' });
      expect(python.symbols).toContainEqual(expect.objectContaining({ name: 'double', kind: 'function' }));
      story.write('main.rs', 'fn main() {}\n');
      expect(await codeOf('symbols', { path: 'main.rs' })).toBe('NO_LANGUAGE_SERVER');
      for (const tool of ['hover', 'definition', 'references'])
        expect(await codeOf(tool, { ...at, path: 'none.ts' })).toBe('FILE_NOT_FOUND');
      expect(await codeOf('diagnostics', { path: '../a.ts' })).toBe('PATH_OUTSIDE_WORKSPACE');
    });

    it('[AP-5] a rejected call does not run, and the agent is told why', async () => {
      const toolId = (await story.ask('write_file', { path: 'no.md', content: 'x' })) as string;
      const { approval_id, project_id } = await story.card(toolId);
      await story.person.client.reject({
        params: { approval_id, project_id },
        body: { reason: 'not there' },
      });
      expect(await story.untilFinal(toolId)).toMatchObject({ status: 'rejected' });
      expect(existsSync(story.at('no.md'))).toBe(false);
    });

    it('[AG-1] the manual model calls tools from a chat message', async () => {
      const params = { project_id: story.projectId };
      const say = async (content: string) =>
        (await story.person.client.sendMessage({ params, body: { content, session_id: story.sessionId } }))
          .run_id;
      const untilIdle = (run: string) =>
        story.person.next('agent.state', ({ run_id, state }) => run_id === run && state === 'idle');
      await untilIdle(await say('/read_file path=src/add.ts'));
      const writes = await say('/write_file path=chat.md content=hello');
      const request = await story.person.next('tool.approval_request', ({ tool_params }) =>
        JSON.stringify(tool_params).includes('chat.md'),
      );
      await story.approve(await story.card(request.tool_id));
      await untilIdle(writes);
      expect(story.read('chat.md')).toBe('hello');
      const calls = (await story.person.client.history({ query: { session_id: story.sessionId } }))
        .executions;
      expect(
        calls.filter(({ run_id }) => run_id !== null).map(({ tool_name, status }) => [tool_name, status]),
      ).toEqual([
        ['write_file', 'completed'],
        ['read_file', 'completed'],
      ]);
    });

    it('[TL-1] every tool was called', () => {
      expect([...called].sort()).toEqual(catalogue.map(({ name }) => name as string).sort());
    });
  });
}
