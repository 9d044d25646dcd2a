/** `countersign try` with real commands in real folders, at a screen that tests read and in a real terminal. */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
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
import { fileURLToPath } from 'node:url';
import { personsFolders, WorkspaceRunner, workspaceAt } from '@countersign/tool-runner';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { main } from '../main.ts';
import { FakeScreen, fakeTerminal } from '../screen/screen-fixture.test-data.ts';

const launcher = fileURLToPath(new URL('../../bin/countersign.mjs', import.meta.url));
const before = process.cwd();
let folder: string;
let root: string;
let env: Record<string, string>;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-try-')));
  root = join(folder, 'project');
  mkdirSync(root);
  env = {
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, 'config'),
    XDG_STATE_HOME: join(folder, 'state'),
    LANG: 'C',
  };
  process.chdir(root);
});
afterEach(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true, force: true });
});

const at = (path: string): string => join(root, path);
const write = (path: string, text = `${path}\n`): void => writeFileSync(at(path), text);
const read = (path: string): string => readFileSync(at(path), 'utf8');
/** Longer than a busy machine takes. */
const patient = ['--timeout', '600'];

async function run(...argv: string[]): Promise<{ status: number; out: string; error: string }> {
  const terminal = fakeTerminal();
  const status = await main(argv, terminal, env);
  return { status, out: terminal.out(), error: terminal.error() };
}

function open(argv: readonly string[], screen = new FakeScreen(100, 40)) {
  const terminal = fakeTerminal({ screen, color: true });
  const ended = main([...argv], terminal, env);
  return { screen, ended, error: terminal.error };
}

/** Waits longer than a question must be visible before a key counts. */
const halfSecond = () => new Promise((resolve) => setTimeout(resolve, 520));
const question = 'y lands it';

const line = 'sed -i s/two/TWO/ a.txt; rm old.txt; echo new > new.txt; echo said; exit 3';
beforeEach(() => {
  write('a.txt', 'one\ntwo\n');
  write('old.txt', 'old\n');
});
const untouched = ['one\ntwo\n', true, false];
const changed = ['one\nTWO\n', false, true];
const state = () => [read('a.txt'), existsSync(at('old.txt')), existsSync(at('new.txt'))];

describe('[RN-13] without a terminal', () => {
  it('prints one JSON line, drops, and ends as the command did', async () => {
    const { status, out, error } = await run('try', '--json', ...patient, '--', line);
    expect(status).toBe(3);
    expect(out.split('\n')).toHaveLength(2);
    const { duration_ms, ...told } = JSON.parse(out);
    expect(duration_ms).toBeGreaterThan(0);
    expect(told).toEqual({
      exit_code: 3,
      effects: [
        {
          path: 'old.txt',
          change: 'deleted',
          size: 4,
          diff: '--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n',
        },
        {
          path: 'a.txt',
          change: 'modified',
          size: 8,
          diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n',
        },
        {
          path: 'new.txt',
          change: 'created',
          size: 4,
          diff: 'new file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n',
        },
      ],
      withheld: [],
      conflicts: [],
      landed: false,
    });
    expect(error).toBe('said\n');
    expect(state()).toEqual(untouched);
  });

  it('--land lands at once, and undo --last takes it back', async () => {
    const landed = await run('try', '--json', '--land', ...patient, '--', line);
    expect([landed.status, JSON.parse(landed.out).landed]).toEqual([3, true]);
    expect(state()).toEqual(changed);
    expect(await run('undo', '--last')).toMatchObject({
      status: 0,
      out: `Undone: countersign try -- ${line}\n`,
    });
    expect(state()).toEqual(untouched);
    expect(await run('undo', '--last', '--json')).toMatchObject({
      status: 1,
      out: expect.stringContaining('NOT_UNDOABLE'),
    });
  });

  it('says what it withholds, and ends with 1 if not all landed', async () => {
    const { status, out } = await run(
      ...['try', '--json', '--land', ...patient, '--', 'mkdir .husky; echo evil > .husky/x; echo b > b.txt'],
    );
    expect(status).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      withheld: [
        { path: '.husky', change: 'created' },
        { path: '.husky/x', change: 'created' },
      ],
      landed: true,
    });
    expect([existsSync(at('.husky')), read('b.txt')]).toEqual([false, 'b\n']);
  });

  it('keeps the command’s output apart from ours', async () => {
    const { status, out, error } = await run('try', ...patient, '--', 'echo said; echo b > b.txt');
    expect([status, out]).toEqual([0, 'said\n']);
    expect(error).toContain('1 created · exit 0');
    expect(error).toContain('there is no terminal to ask');
  });

  it('stops at a limit with 124, and says it by a null', async () => {
    const { status, out, error } = await run(
      'try',
      '--json',
      '--timeout',
      '1',
      '--',
      'echo x > x; sleep 600',
    );
    expect([status, JSON.parse(out)]).toEqual([
      124,
      {
        exit_code: null,
        duration_ms: expect.any(Number),
        effects: [],
        withheld: [],
        conflicts: [],
        landed: false,
      },
    ]);
    expect(error).toMatch(/longer than 1 s \(--timeout\)\. Nothing landed; \d changes? w(as|ere) dropped\./);
    const flood = 'for i in $(seq 60); do echo > f$i; done; sleep 600';
    expect(await run('try', '--max-files', '50', ...patient, '--', flood)).toMatchObject({ status: 124 });
    expect(await run('try', ...patient, '--', 'kill -9 $$')).toMatchObject({ status: 137 });
  });

  it('says what is wrong with how it is used, and why a folder cannot be tried in', async () => {
    for (const argv of [[], ['--'], ['--timeout', '0', '--', 'ls'], ['ls', '-l']])
      expect(await run('try', ...argv)).toMatchObject({
        status: 2,
        error: expect.stringContaining('[USAGE]'),
      });
    expect((await run('try', '--help')).out).toContain('Exit status');
    const odd = join(folder, 'a:b');
    mkdirSync(odd);
    process.chdir(odd);
    expect(await run('try', '--', 'ls')).toMatchObject({
      status: 2,
      error: expect.stringMatching(/cannot run in a layer here, because .*colon.*\[ISOLATION_UNAVAILABLE\]/),
    });
    expect(await run('undo', 'x', '--last')).toMatchObject({ status: 2 });
  });

  it('50,000 effects do not freeze it, and what is shown stays short', async () => {
    const many = 'mkdir many; cd many; printf "%s\\n" {1..50000} | xargs touch';
    const { status, error } = await run('try', ...patient, '--', many);
    expect(status).toBe(0);
    expect(error).toContain('50001 created');
    expect(error).toMatch(/and 49\d{3} more/);
    expect(error.split('\n').length).toBeLessThan(1_500);
  });
});

describe('[RN-10] beside a runner of the same folder', () => {
  it('tries, lands and undoes all the same', async () => {
    const folders = personsFolders(env);
    const never = async (): Promise<never> => {
      throw new Error('no server knows of it');
    };
    const runner = new WorkspaceRunner({
      runnerId: 'up',
      workspace: workspaceAt(root, { folders }),
      configFolder: folders.config,
      api: { approveToolExecution: never, rejectToolExecution: never, sendToolResult: never },
      dialogProvider: undefined,
      logger: { debug() {}, info() {}, error() {} },
    });
    expect(await run('try', '--land', ...patient, '--', line)).toMatchObject({
      status: 3,
      error: expect.stringContaining('3 changes landed'),
    });
    expect(state()).toEqual(changed);
    expect(await run('undo', '--last')).toMatchObject({ status: 0 });
    expect(state()).toEqual(untouched);
    await runner.dispose();
  });
});

describe('[UI-6] at a screen', () => {
  it('shows the effects and lands them after a deliberate key', async () => {
    const { screen, ended, error } = open(['try', ...patient, '--', line]);
    await screen.shows(question);
    expect(screen.text).toContain('1 changed, 1 created, 1 deleted · exit 3');
    expect(screen.text.indexOf('Deleted')).toBeLessThan(screen.text.indexOf('Changed'));
    expect(screen.raw).toContain('\u001b[31m    -\u001b[0m\u001b[31mtwo\u001b[0m');
    expect(state()).toEqual(untouched);
    await halfSecond();
    screen.send('y');
    expect(await ended).toBe(3);
    expect(error()).toContain('undo --last');
    expect(state()).toEqual(changed);
    expect(screen.isTaken).toBe(false);
  });

  it.each([
    ['n', 3],
    ['\r', 3],
    ['\u001b', 3],
    ['\u0003', 130],
  ])('drops at %j', async (key, status) => {
    const { screen, ended } = open(['try', ...patient, '--', line]);
    await screen.shows(question);
    await halfSecond();
    screen.send(key);
    expect(await ended).toBe(status);
    expect(state()).toEqual(untouched);
  });

  it('takes nothing for a yes that was typed before the question, at once, or pasted', async () => {
    const screen = new FakeScreen(100, 40);
    const { write: draw } = screen;
    screen.write = (text) => {
      draw.call(screen, text);
      // As soon as the question is there.
      if (text.includes(question)) setImmediate(() => screen.send('y'));
    };
    const { ended } = open(['try', ...patient, '--', `echo begun; ${line}`], screen);
    screen.send('y');
    await screen.shows('begun');
    screen.send('y');
    await screen.shows(question);
    await halfSecond();
    screen.send('yy');
    screen.send('\u001b[200~y\u001b[201~');
    screen.send('x');
    expect(state()).toEqual(untouched);
    screen.send('n');
    expect(await ended).toBe(3);
    expect(state()).toEqual(untouched);
  });

  it('Ctrl-C stops the command, and nothing lands', async () => {
    const { screen, ended, error } = open(['try', ...patient, '--', 'echo x > x; echo begun; sleep 600']);
    await screen.shows('begun');
    screen.send('\u0003');
    expect(await ended).toBe(130);
    expect(error()).toContain('Stopped. Nothing landed; 1 change was dropped.');
    expect(existsSync(at('x'))).toBe(false);
  });

  it('shows output, names and contents as text, whatever they try', async () => {
    const forged = `printf 'a\\033[2J\\033[1;1Hforged\\n'; printf 'x\\342\\200\\256y\\n' > $'n\\033[2Jame\\nz'`;
    const { screen, ended } = open(['try', ...patient, '--', forged]);
    await screen.shows(question);
    expect(screen.text).toContain('a⟨U+001B⟩[2J⟨U+001B⟩[1;1Hforged');
    expect(screen.text).toContain('n⟨U+001B⟩[2Jame⟨U+000A⟩z');
    expect(screen.text).toContain('+x⟨U+202E⟩y');
    await halfSecond();
    screen.send('n');
    await ended;
  });

  it('says a deleted folder once, and what git keeps in one line', async () => {
    for (const path of ['build', 'build/in', 'build-old']) mkdirSync(at(path));
    for (const path of ['build/a', 'build/in/b', 'build-old/c']) write(path);
    execFileSync('git', ['init', '-q', root]);
    const commit = 'git -c user.name=n -c user.email=a@b.c commit -qm one';
    const { screen, ended } = open([
      'try',
      ...patient,
      '--',
      `git add a.txt; ${commit}; rm -r build build-old`,
    ]);
    await screen.shows(question);
    expect(screen.text).toMatch(/Deleted\n {2}build\/ {2}with 3 entries\n {2}build-old\/ {2}with 1 entry\n/);
    expect(screen.text).toMatch(/git's own data: \d+ entries/);
    await halfSecond();
    screen.send('n');
    await ended;
  });

  it('asks nothing where nothing would land', async () => {
    const { screen, ended } = open(['try', ...patient, '--', 'ls']);
    expect(await ended).toBe(0);
    expect(screen.text).toContain('nothing changed · exit 0');
    expect(screen.text).not.toContain(question);
  });

  it('speaks Russian', async () => {
    const { screen, ended } = open(['try', '--lang', 'ru', ...patient, '--', line]);
    await screen.shows('y — перенести');
    expect(screen.text).toContain('изменено: 1, создано: 1, удалено: 1 · код выхода 3');
    await halfSecond();
    screen.send('n');
    await ended;
  });
});

describe('[UI-6] in a real terminal', () => {
  /** `script` runs a command in a terminal of its own. */
  class RealTerminal {
    readonly #child: ChildProcessWithoutNullStreams;
    text = '';

    constructor(argv: readonly string[], terminal = 'xterm-256color') {
      const quoted = [process.execPath, launcher, ...argv].map(
        (word) => `'${word.replaceAll("'", `'\\''`)}'`,
      );
      this.#child = spawn('script', ['-qfec', quoted.join(' '), '/dev/null'], {
        cwd: root,
        env: { ...env, PATH: process.env.PATH, TERM: terminal },
      });
      this.#child.stdout.on('data', (chunk: Buffer) => {
        this.text += chunk.toString();
      });
    }

    async shows(wanted: string): Promise<void> {
      const start = performance.now();
      while (!this.text.includes(wanted)) {
        if (performance.now() - start > 120_000) throw new Error(`It does not show ${wanted}:\n${this.text}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }

    type(text: string): void {
      this.#child.stdin.write(text);
    }

    async ended(): Promise<number> {
      const [status] = (await once(this.#child, 'close')) as [number];
      return status;
    }
  }

  it('lands at y, drops at Ctrl-C, and discards what was typed before', async () => {
    const first = new RealTerminal(['try', ...patient, '--', line]);
    first.type('y\ry\r');
    await first.shows(question);
    await halfSecond();
    const dropped = first.ended();
    first.type('\u0003');
    expect(await dropped).toBe(130);
    expect(state()).toEqual(untouched);

    const second = new RealTerminal(['try', ...patient, '--', line]);
    await second.shows(question);
    await halfSecond();
    const landed = second.ended();
    second.type('y');
    expect(await landed).toBe(3);
    expect(state()).toEqual(changed);
  });

  it('asks for a line where the terminal cannot move its cursor', async () => {
    const terminal = new RealTerminal(['try', ...patient, '--', line], 'dumb');
    await terminal.shows('Land it? (y/N)');
    await halfSecond();
    const ended = terminal.ended();
    terminal.type('y\n');
    expect(await ended).toBe(3);
    expect(state()).toEqual(changed);
  });
});
