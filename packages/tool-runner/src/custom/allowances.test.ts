import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ManualClock } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cannotIsolate } from '../isolation/isolation-fixture.test-data.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import { describeReach, readServerList, type ServerEntry } from './server-entry.ts';
import { neededFolders, readServers } from './server-files.ts';
import { ToolServer } from './tool-server.ts';
import { hostile, hostileServer, ToolServersFixture } from './tool-servers-fixture.test-data.ts';

// Real processes in real isolation, on a machine that may be busy.

let fixture: ToolServersFixture;
beforeEach(() => {
  fixture = new ToolServersFixture();
});
afterEach(() => fixture.remove());

const workspaceServers = (mcpServers: object) =>
  fixture.isolation.write('.mcp.json', JSON.stringify({ mcpServers }));
const problemOf = (name: string) =>
  readServers(fixture.configFolder, fixture.root).unusable.find((one) => one.name === name)?.problem;

describe('[RN-8] the usual configuration', () => {
  const read = (mcpServers: object, owner: 'person' | 'workspace' = 'person') =>
    readServerList(JSON.stringify({ mcpServers }), owner, '/work');

  it('names servers by command or address, with what is ours beside it', () => {
    const { entries, unusable } = read({
      my_db: {
        command: 'node',
        args: ['a b.ts'],
        env: { KEY: 'v' },
        cwd: '/work/sub',
        type: 'stdio',
        extra: 1,
      },
      web: { url: 'https://example.test/mcp', headers: { Authorization: 'Bearer x' } },
    });
    expect(unusable).toEqual([]);
    expect(entries).toMatchObject([
      {
        name: 'my-db',
        reach: { kind: 'stdio', command: 'node', args: ['a b.ts'], env: { KEY: 'v' }, cwd: 'sub' },
        network: false,
        workspace: 'write',
        timeoutSeconds: 300,
      },
      { name: 'web', reach: { kind: 'http', url: 'https://example.test/mcp' }, network: true },
    ]);
    expect(entries.map(describeReach)).toEqual(["node 'a b.ts'", 'https://example.test/mcp']);
  });

  it('shows a command line as it is: nothing in it hides or moves the cursor', () => {
    const { entries } = read({
      a: { command: 'node', args: ['\u001b[2J', 'x\ny', "it's", '\u202egpj.exe'] },
    });
    expect(entries.map(describeReach)).toEqual([
      "node '⟨U+001B⟩[2J' 'x⟨U+000A⟩y' 'it'\\''s' '⟨U+202E⟩gpj.exe'",
    ]);
  });

  it.each([
    ['neither', {}, 'it needs either a command or a url'],
    ['both', { command: 'a', url: 'https://b' }, 'it needs either a command or a url'],
    ['outside', { command: 'a', cwd: '/etc' }, 'cwd must be a folder of the workspace'],
    ['above', { command: 'a', cwd: '../x' }, 'cwd must be a folder of the workspace'],
    ['preload', { command: 'a', env: { LD_PRELOAD: '/tmp/x.so' } }, /LD_PRELOAD/],
    ['path', { command: 'a', env: { PATH: '/tmp' } }, /PATH/],
    ['nul', { command: 'a\0b' }, /NUL/],
    ['ftp', { url: 'ftp://x' }, 'its url is no http address'],
    ['password', { url: 'https://a:b@x/' }, 'its url has a password in it; use a header'],
    ['plain', { url: 'http://example.test/', headers: { A: 'b' } }, /unencrypted/],
    ['misspelt', { command: 'a', countersign: { netwrok: true } }, /netwrok/],
    ['bad name!', { command: 'a' }, /letters, digits and hyphens/],
  ])('%s is refused, and the others are not', (name, entry, problem) => {
    const { entries, unusable } = read({ [name]: entry, good: { command: 'node' } });
    expect(entries.map((one) => one.name)).toEqual(['good']);
    expect(unusable[0]?.problem).toEqual(
      typeof problem === 'string' ? problem : expect.stringMatching(problem),
    );
  });

  it('a workspace neither lowers a risk nor shows folders of the person', () => {
    const own = { risk: { a: 'LOW', b: 'HIGH', c: 'MEDIUM' }, readable: ['/home'], network: true };
    const [entry] = read({ x: { command: 'node', countersign: own } }, 'workspace').entries;
    expect(entry).toMatchObject({ readable: [], network: true });
    expect([...(entry?.risk ?? [])]).toEqual([['b', 'HIGH']]);
    expect([...(read({ x: { command: 'node', countersign: own } }).entries[0]?.risk ?? [])]).toHaveLength(3);
  });

  it('is ignored if others could have written it, or if it is not JSON', () => {
    fixture.configure({ a: { command: 'node' } });
    chmodSync(join(fixture.configFolder, 'mcp.json'), 0o666);
    expect(problemOf('mcp.json')).toMatch(/can be written by others/);
    fixture.isolation.write('.mcp.json', '{');
    expect(problemOf('.mcp.json')).toMatch(/not JSON/);
    fixture.isolation.write('.mcp.json', '{"mcpServers": []}');
    expect(problemOf('.mcp.json')).toMatch(/mcpServers/);
  });

  it('the person’s own name wins over the workspace’s', () => {
    fixture.configure({ db: { command: 'node', args: ['/mine.ts'] } });
    workspaceServers({
      db: { command: 'node', args: ['theirs.ts'] },
      d_b: { command: 'x' },
      'd-b': { command: 'y' },
    });
    const { entries } = readServers(fixture.configFolder, fixture.root);
    expect(entries.map(({ name, owner }) => [name, owner])).toEqual([
      ['db', 'person'],
      ['d-b', 'workspace'],
    ]);
    expect(problemOf('db')).toBe('your own configuration has that name');
    expect(problemOf('d-b')).toBe('another server is called d-b already');
  });
});

describe('[RN-8] what isolation shows of the person’s disk', () => {
  const needed = (args: readonly string[], readable: readonly string[] = []) => {
    const { parent, root, home } = fixture.isolation;
    const [entry] = readServerList(
      JSON.stringify({ mcpServers: { a: { command: 'node', args, countersign: { readable } } } }),
      'person',
      root,
    ).entries;
    const state = join(parent, 'state');
    return neededFolders(entry as ServerEntry, { root, home, config: fixture.configFolder, state });
  };
  const file = (path: string, text = '') => {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
    return path;
  };

  it('is the package of a script, its linked packages, or the outermost node_modules', () => {
    const { parent, home } = fixture.isolation;
    const script = file(join(home, 'tools/deploy/src/deploy.ts'));
    file(join(home, 'tools/deploy/package.json'), '{}');
    expect(needed([script])).toEqual([join(home, 'tools/deploy'), script]);
    const linked = join(parent, 'repository/packages/helper');
    file(join(linked, 'package.json'));
    file(join(parent, 'repository/node_modules/x/index.js'));
    mkdirSync(join(home, 'tools/deploy/node_modules/@own'), { recursive: true });
    symlinkSync(linked, join(home, 'tools/deploy/node_modules/@own/helper'));
    expect(needed([script])).toEqual([
      join(home, 'tools/deploy'),
      linked,
      join(parent, 'repository/node_modules'),
      script,
    ]);
    const installed = file(join(home, 'mcp/node_modules/server/dist/index.js'));
    expect(needed([installed, '.'])).toEqual([join(home, 'mcp/node_modules'), installed]);
  });

  it('is never the home, the workspace again, or what Countersign keeps', () => {
    const { parent, root, home } = fixture.isolation;
    file(join(home, 'package.json'), '{}');
    const script = file(join(home, 'server.ts'));
    expect(needed([script])).toEqual([script]);
    expect(needed([file(join(root, 'server.ts'))])).toEqual([]);
    expect(needed([], [home, fixture.configFolder, parent, '/', '/nowhere'])).toEqual([]);
  });
});

describe('[RN-8] the programs of the workspace that an allowance covers', () => {
  const covers = (entry: object) => {
    workspaceServers({ theirs: entry });
    return fixture.desk.question('theirs').files;
  };

  it.each([
    [{ command: 'node', args: ['tools/server'] }, ['tools/server.js']],
    [{ command: 'node', args: ['--no-warnings', 'tools'] }, ['tools/index.js', 'tools/package.json']],
    [{ command: 'node', args: ['.'] }, ['lib/main.js', 'package.json']],
    [{ command: 'node', args: ['/usr/lib/x.js', '.'] }, []],
    [{ command: 'node', args: ['--require=./tools/server.js', '-e', '0'] }, ['tools/server.js']],
    [{ command: 'x', env: { NODE_OPTIONS: '--import ./tools/server.js' } }, ['tools/server.js']],
    [{ command: 'sh', args: ['-c', 'cd . && node tools/server.js;'] }, ['tools/server.js']],
    [{ command: 'npm', args: ['run', 'serve'] }, ['lib/main.js', 'package.json']],
    [{ command: 'npx', args: ['-y', 'serve'] }, ['tools/run']],
    [{ command: 'python3', args: ['-m', 'tools'] }, ['tools/__main__.py']],
    [{ command: './tools/run', cwd: '' }, ['tools/run']],
    [{ command: 'run', cwd: 'tools' }, ['tools/run']],
    [{ command: 'node', args: ['tools/server.js', 'data.csv', 'package.json'] }, ['tools/server.js']],
  ])('%j: %j', (entry, files) => {
    fixture.isolation.write('package.json', '{"main": "lib/main"}');
    for (const path of ['tools/server.js', 'tools/index.js', 'tools/package.json', 'lib/main.js'])
      fixture.isolation.write(path, '0');
    for (const path of ['tools/__main__.py', 'tools/run', 'data.csv']) fixture.isolation.write(path, '0');
    mkdirSync(join(fixture.root, 'node_modules/.bin'), { recursive: true });
    symlinkSync('../../tools/run', join(fixture.root, 'node_modules/.bin/serve'));
    expect(covers(entry)).toEqual(files);
  });
});

it('[RN-8] a large program of the workspace is not replaced by another of its size', () => {
  workspaceServers({ theirs: { command: './server' } });
  const digestOf = (text: string) => {
    fixture.isolation.write('server', text.repeat(17 * 1024 * 1024));
    return fixture.desk.question('theirs').digest;
  };
  expect(digestOf('a')).not.toBe(digestOf('b'));
  expect(fixture.desk.question('theirs')).toMatchObject({ files: ['server'] });
});

describe.skipIf(cannotIsolate)('[RN-8] a server of the workspace', () => {
  const script = () => readFileSync(hostileServer, 'utf8');

  it('starts only once the person has allowed exactly that, and waits again when it changes', async () => {
    fixture.isolation.write('tools/server.ts', script());
    const entry = {
      command: 'node',
      args: ['--disable-warning=ExperimentalWarning', 'tools/server.ts'],
      env: { A: 'b' },
    };
    workspaceServers({ theirs: entry });
    await fixture.servers.start();
    expect(fixture.status('theirs')).toMatchObject({
      state: 'not_allowed',
      problem: 'you have not allowed it yet',
    });
    expect(fixture.servers.names).toEqual([]);

    const question = fixture.desk.question('theirs');
    expect(question).toMatchObject({
      owner: 'workspace',
      runs: 'node --disable-warning=ExperimentalWarning tools/server.ts',
      files: ['tools/server.ts'],
      env: [{ name: 'A', value: 'b' }],
      network: false,
      isAllowed: false,
      wasAllowed: false,
    });
    expect(() => fixture.desk.allow('theirs', `sha256:${'0'.repeat(64)}`)).toThrow('it has changed');
    fixture.desk.allow('theirs', question.digest);
    await fixture.until(() => fixture.servers.names.includes('theirs__do'), 'its tools');
    expect(await fixture.call('theirs__do', { what: 'version' })).toMatchObject({ success: true });

    fixture.isolation.write('tools/server.ts', `${script()}\n// changed`);
    await fixture.until(() => fixture.status('theirs').state === 'not_allowed', 'the question');
    expect(fixture.status('theirs').problem).toBe('it has changed since you allowed it');
    expect(await fixture.failure('theirs__do', { what: 'version' }, { digest: question.digest })).toMatch(
      /^UNKNOWN_TOOL/,
    );
    fixture.isolation.write('tools/server.ts', script());
    await fixture.until(() => fixture.servers.names.includes('theirs__do'), 'its tools');
    workspaceServers({ theirs: { ...entry, countersign: { network: true } } });
    await fixture.until(() => fixture.status('theirs').state === 'not_allowed', 'the question');
    expect(fixture.desk.question('theirs')).toMatchObject({ network: true, wasAllowed: true });

    expect(fixture.desk.forbid('theirs')).toBe(true);
    expect(fixture.desk.forbid('theirs')).toBe(false);
    expect(fixture.desk.question('theirs').wasAllowed).toBe(false);
  });

  it('[AP-8] does not run what was changed a moment before a call, or forbidden', async () => {
    await fixture.remove();
    fixture = new ToolServersFixture({ lookMs: 3_600_000 }); // does not read the configuration again during this test
    fixture.isolation.write('tools/server.ts', script());
    const args = ['--disable-warning=ExperimentalWarning', 'tools/server.ts'];
    workspaceServers({ theirs: { command: 'node', args } });
    const allow = () => fixture.desk.allow('theirs', fixture.desk.question('theirs').digest);
    allow();
    await fixture.servers.start();
    const call = { tool: 'theirs__do', params: { what: 'version' } } as const;
    const digest = fixture.digest(call);
    const other = `import { writeFileSync as w } from 'node:fs';\nw('owned.txt', '');\n${script()}`;
    fixture.isolation.write('tools/server.ts', other);
    expect(await fixture.failure(call.tool, call.params, { digest })).toMatch(/^APPROVAL_STALE/);
    expect(fixture.isolation.has('owned.txt')).toBe(false);
    expect(fixture.status('theirs').state).toBe('not_allowed');
    await fixture.remove();

    fixture = new ToolServersFixture({ lookMs: 3_600_000 });
    fixture.isolation.write('tools/server.ts', script());
    workspaceServers({ theirs: { command: 'node', args } });
    allow();
    await fixture.servers.start();
    expect(await fixture.call(call.tool, call.params)).toMatchObject({ success: true });
    fixture.desk.forbid('theirs');
    expect(await fixture.failure(call.tool, call.params)).toMatch(/^APPROVAL_STALE/);
  });

  it('also where the person’s own entry runs a program of the workspace', async () => {
    fixture.isolation.write('tools/server.ts', script());
    fixture.configure({ mine: { command: 'node', args: [join(fixture.root, 'tools/server.ts')] } });
    await fixture.servers.start();
    expect(fixture.status('mine').state).toBe('not_allowed');
    fixture.desk.allow('mine', fixture.desk.question('mine').digest);
    const [listed] = await fixture.desk.list();
    expect(listed).toMatchObject({ name: 'mine', state: 'ready' });
    expect(listed?.tools).toHaveLength(4);
  });

  it('an allowance that cannot be believed allows nothing', () => {
    workspaceServers({ theirs: { command: 'node', args: ['-e', '0'] } });
    fixture.desk.allow('theirs', fixture.desk.question('theirs').digest);
    expect(fixture.desk.question('theirs').isAllowed).toBe(true);
    const path = join(fixture.configFolder, 'allowed-servers.json');
    chmodSync(path, 0o666);
    expect(fixture.desk.question('theirs').isAllowed).toBe(false);
    chmodSync(path, 0o600);
    writeFileSync(path, '{}');
    expect(fixture.desk.question('theirs').isAllowed).toBe(false);
    expect(() => fixture.desk.question('nobody')).toThrow('There is no tool server here');
  });
});

describe.skipIf(cannotIsolate)('[RN-8] the life of a server', () => {
  it('cannot write before a call was approved', async () => {
    fixture.configure({ a: hostile('writes-at-once') });
    await fixture.servers.start();
    expect(fixture.status('a')).toMatchObject({
      state: 'ready',
      outputTail: expect.stringContaining('EROFS'),
    });
    expect(fixture.isolation.has('planted.txt')).toBe(false);
  });

  it('is writable around calls only, and goes back to looking', async () => {
    await fixture.remove();
    fixture = new ToolServersFixture({ idleMs: 300 });
    fixture.isolation.write('a.txt', 'a');
    fixture.configure({ a: hostile('plain') });
    await fixture.servers.start();
    expect(await fixture.call('a__do', { what: 'write', path: 'b.txt', content: 'b' })).toMatchObject({
      success: true,
    });
    await fixture.call('a__do', { what: 'write', path: '.pre-commit-config.yaml', content: 'repos: []' });
    await fixture.until(() => !fixture.isolation.has('.vscode'), 'the end of the writable life');
    await fixture.until(
      () => /\.pre-commit-config\.yaml.*set aside \(VA-3\)/.test(JSON.stringify(fixture.logger.lines)),
      'the word on what it planted',
    );
    expect(fixture.isolation.has('.pre-commit-config.yaml')).toBe(false);
    await fixture.until(() => fixture.status('a').state === 'ready', 'the read-only life');
    expect(await fixture.call('a__do', { what: 'read', path: 'b.txt' })).toMatchObject({ content: 'b' });
  });

  it('does not stay writable because its call was cancelled while it started', async () => {
    await fixture.remove();
    fixture = new ToolServersFixture({ idleMs: 200 });
    fixture.configure({ a: hostile('slow-writer') });
    await fixture.servers.start();
    const cancel = new AbortController();
    const called = fixture.call('a__do', { what: 'version' }, { signal: cancel.signal });
    called.catch(() => {});
    await fixture.until(() => fixture.isolation.has('life-0'), 'the writable life');
    cancel.abort();
    await expect(called).rejects.toThrow(ExecutionCancelled);
    fixture.isolation.write('go', '');
    const lives = () => readdirSync(fixture.root).filter((name) => name.startsWith('life-')).length;
    await fixture.until(() => lives() > 1, 'its first sign of life');
    const isQuiet = async () => {
      const before = lives();
      await new Promise((resolve) => setTimeout(resolve, 500));
      return lives() === before;
    };
    await expect.poll(isQuiet, { interval: 10 }).toBe(true);
  });

  it('keeps its state where it never writes, and is switched off by the configuration', async () => {
    const reads = hostile('plain', { countersign: { workspace: 'read' } });
    const blind = hostile('plain', { countersign: { workspace: 'none' } });
    fixture.isolation.write('a.txt', 'a');
    fixture.configure({ reads, blind });
    await fixture.servers.start();
    await fixture.call('reads__do', { what: 'change' });
    await fixture.until(() => fixture.servers.find('reads__do')?.description === 'Version 2', 'the change');
    expect(await fixture.call('reads__do', { what: 'version' })).toMatchObject({ content: 'version 2' });
    expect(await fixture.call('reads__do', { what: 'write', path: 'b', content: '' })).toMatchObject({
      success: false,
    });
    expect(await fixture.call('blind__do', { what: 'list', path: fixture.root })).toMatchObject({
      success: false,
    });
    fixture.configure({ reads: { ...reads, disabled: true } });
    await fixture.until(() => fixture.status('reads').state === 'disabled', 'the switch');
    expect(fixture.servers.names).toEqual([]);
  });

  it('is tried again after 1, 2, 4 … seconds, and left alone after ten failures', async () => {
    const clock = new ManualClock();
    const [entry] = readServerList(
      JSON.stringify({ mcpServers: { a: { command: 'no-such-program' } } }),
      'person',
      fixture.root,
    ).entries;
    const { workspace, starter } = fixture.isolation;
    const states: string[] = [];
    const server: ToolServer = new ToolServer(entry as ServerEntry, 'sha256:0', {
      workspace,
      starter,
      configFolder: fixture.configFolder,
      clock,
      onChange: () => states.push(server.status.problem ?? ''),
      onPlanted: () => {},
      isStillAllowed: () => true,
    });
    await server.start();
    for (const [failures, seconds] of [1, 2, 4, 8, 16, 32, 60, 60, 60].entries()) {
      expect(states).toHaveLength(failures + 1);
      await clock.advance(seconds * 1_000 - 1);
      expect(states).toHaveLength(failures + 1);
      await clock.advance(1);
      await fixture.until(() => states.length === failures + 2, 'the next try');
    }
    expect(states.at(-1)).toMatch(/failed 10 times and is left alone/);
    await clock.advance(600_000);
    expect(states).toHaveLength(10);
    await server.stop();
  });
});
