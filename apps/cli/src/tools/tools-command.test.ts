import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { main } from '../main.ts';
import type { Terminal } from '../terminal.ts';
import { toolTemplate } from './new-tool.ts';

// Real processes in real isolation, on a machine that may be busy.

let folder: string;
let root: string;
let config: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-tools-')));
  root = join(folder, 'workspace');
  config = join(folder, 'home/.config/countersign');
  for (const path of [root, config]) mkdirSync(path, { recursive: true, mode: 0o700 });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** One command line; what a person types is answered line by line. */
async function run(
  args: readonly string[],
  {
    typed: lines = [],
    interactive = lines.length > 0,
  }: { typed?: readonly string[]; interactive?: boolean } = {},
) {
  let out = '';
  let errors = '';
  const terminal: Terminal = {
    stdin: (async function* () {})(),
    write: async (text) => {
      out += text;
    },
    writeError: (text) => {
      errors += text;
    },
    color: false,
    interactive,
    async *typed(prompt) {
      out += prompt;
      yield* lines;
    },
  };
  const status = await main(['tools', ...args, '--workspace', root], terminal, {
    HOME: join(folder, 'home'),
  });
  return { status, out, errors };
}
const workspaceServers = (mcpServers: object) =>
  writeFileSync(join(root, '.mcp.json'), JSON.stringify({ mcpServers }));
const server = {
  command: 'node',
  args: ['-e', 'console.error("no way"); process.exit(3)'],
  env: { A: '\u001b[31m' },
};

describe('countersign tools', () => {
  it('says what to do where there is nothing, and helps', async () => {
    const { status, out } = await run([]);
    expect([status, out]).toEqual([0, expect.stringContaining('countersign tools new NAME')]);
    expect((await run(['--help'])).out).toContain('countersign tools allow NAME');
    expect(await run(['dance'])).toMatchObject({ status: 2, errors: expect.stringContaining('tools dance') });
    expect(await run(['list', 'x'])).toMatchObject({ status: 2 });
    expect(await run(['allow'])).toMatchObject({
      status: 2,
      errors: expect.stringContaining('Which server?'),
    });
    expect(await run(['forbid'])).toMatchObject({ status: 2 });
    expect(await run(['allow', 'nobody'])).toMatchObject({
      status: 2,
      errors: expect.stringContaining('NOT_FOUND'),
    });
  });

  it('allow shows everything, asks, and remembers exactly that', async () => {
    workspaceServers({ theirs: server });
    const listed = await run(['list']);
    expect(listed).toMatchObject({
      status: 1,
      out: expect.stringMatching(/theirs {2}waits for you[\s\S]*tools allow theirs/),
    });
    const declined = await run(['allow', 'theirs'], { typed: ['no'] });
    expect(declined).toMatchObject({ status: 1, errors: 'Nothing was allowed.\n' });
    expect(declined.out).toContain(`Command       node -e 'console.error("no way"); process.exit(3)'`);
    expect(declined.out).toContain('Variable      A=⟨U+001B⟩[31m');
    expect(declined.out).toContain('Network       no');
    expect(declined.out).toContain('Asked again   when this entry changes; no other program');
    expect(declined.out).toContain('Isolation     ');
    expect(await run(['allow', 'theirs'], { interactive: true })).toMatchObject({ status: 1 });
    expect(await run(['allow', 'theirs'])).toMatchObject({
      status: 2,
      errors: expect.stringContaining('--digest'),
    });
    expect(await run(['allow', 'theirs'], { typed: ['yes'] })).toMatchObject({ status: 0 });
    expect((await run(['allow', 'theirs'])).out).toContain('theirs is allowed already.');

    const failed = await run(['list']);
    expect(failed).toMatchObject({
      status: 1,
      out: expect.stringMatching(/failed[\s\S]*it ended with 3[\s\S]*no way/),
    });

    workspaceServers({ theirs: { ...server, countersign: { network: true } } });
    const changed = await run(['allow', 'theirs', '--lang', 'ru'], { typed: ['да'] });
    expect(changed).toMatchObject({ status: 0, out: expect.stringContaining('Вы разрешали прежнюю версию') });
    expect(await run(['forbid', 'theirs'])).toMatchObject({
      status: 0,
      out: 'theirs is no longer allowed.\n',
    });
    expect(await run(['forbid', 'theirs'])).toMatchObject({ status: 1 });
  });

  it('allow says which files are covered, and lets no variable begin a line of its own', async () => {
    writeFileSync(join(root, 'tool.mjs'), '');
    const env = { A: 'b\n  Network       no' };
    workspaceServers({ theirs: { command: 'node', args: ['tool'], env, countersign: { network: true } } });
    writeFileSync(join(root, 'tool.js'), '');
    const { out } = await run(['allow', 'theirs'], { typed: ['no'] });
    expect(out).toContain('Runs the file tool.js');
    expect(out).toContain('Your rules    those that name theirs__…');
    expect(out).toContain('Asked again   when this entry or a file above changes; not when other files');
    expect(out).toContain('Variable      A=b⟨U+000A⟩  Network       no');
  });

  it('speaks to programs, which must name what they looked at', async () => {
    workspaceServers({ theirs: server });
    const { status, out } = await run(['allow', 'theirs', '--json']);
    const question = JSON.parse(out) as { digest: string };
    expect([status, question]).toEqual([1, expect.objectContaining({ name: 'theirs', isAllowed: false })]);
    expect(await run(['allow', 'theirs', '--digest', 'sha256:0'])).toMatchObject({ status: 2 });
    const allowed = await run(['allow', 'theirs', '--json', '--digest', question.digest]);
    expect(JSON.parse(allowed.out)).toMatchObject({ isAllowed: true });
    const list = JSON.parse((await run(['list', '--json'])).out);
    expect(list).toMatchObject({
      ok: false,
      servers: [
        { name: 'theirs', state: 'failed', problem: 'it ended with 3', last_words: 'no way\n', tools: [] },
      ],
    });
    expect(JSON.parse((await run(['forbid', 'theirs', '--json'])).out)).toEqual({
      name: 'theirs',
      was_allowed: true,
    });
  });
});

describe('countersign tools new', () => {
  it('makes a tool that runs, in under 30 lines, and says how to use it', async () => {
    expect(toolTemplate('deploy').split('\n').length).toBeLessThan(30);
    const made = await run(['new', 'deploy', '--in', join(folder, 'deploy')]);
    expect(made).toMatchObject({ status: 0, out: expect.stringContaining(`"deploy": {"command":"node"`) });
    expect(existsSync(join(config, 'mcp.json'))).toBe(false);
    expect(await run(['new', 'deploy', '--in', join(folder, 'deploy')])).toMatchObject({ status: 2 });

    const added = await run(['new', 'ship', '--in', join(root, 'ship'), '--add', '--json']);
    expect(JSON.parse(added.out)).toMatchObject({
      name: 'ship',
      added: true,
      file: join(root, 'ship/ship.ts'),
    });
    expect(await run(['new', 'ship', '--in', join(root, 'ship2'), '--add'])).toMatchObject({
      status: 2,
      errors: expect.stringContaining('has a server called ship already'),
    });
    // The tool's file is in the workspace, and the person who added it has allowed it.
    const { status, out } = await run(['list']);
    expect([status, out]).toEqual([
      0,
      expect.stringMatching(/ship {2}ready[\s\S]*ship__ship {2}MEDIUM {2}Deploys the application/),
    ]);
  });

  it('refuses a bad name, and a configuration that it cannot extend', async () => {
    for (const name of [[], ['Bad Name'], ['../x']])
      expect(await run(['new', ...name])).toMatchObject({
        status: 2,
        errors: expect.stringContaining('needs a name'),
      });
    for (const text of ['{', '[]', '{"mcpServers": 3}']) {
      writeFileSync(join(config, 'mcp.json'), text);
      expect(await run(['new', 'a', '--in', join(folder, 'a'), '--add'])).toMatchObject({
        status: 2,
        errors: expect.stringContaining('not a valid mcp.json'),
      });
    }
    expect(existsSync(join(folder, 'a'))).toBe(false);
    writeFileSync(join(config, 'mcp.json'), '{"other": 1, "mcpServers": {"b": {"command": "x"}}}', {
      mode: 0o600,
    });
    expect(await run(['new', 'a', '--in', join(folder, 'a'), '--add'])).toMatchObject({ status: 0 });
    expect(JSON.parse(readFileSync(join(config, 'mcp.json'), 'utf8'))).toMatchObject({
      other: 1,
      mcpServers: { b: { command: 'x' }, a: { command: 'node', args: [join(folder, 'a/a.ts')] } },
    });
  });
});
