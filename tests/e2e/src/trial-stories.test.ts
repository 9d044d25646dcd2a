import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { ApiError } from '@countersign/client';
import type { Trial } from '@countersign/protocol';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cannotIsolate } from '../../../packages/tool-runner/src/isolation/isolation-fixture.test-data.ts';
import { until } from '../../lab/src/waiting.ts';
import { type Card, RunnerServer, RunnerStory } from './runner/runner-story.ts';

/** A command is tried before anybody approved it: the real server, `countersign connect`, and bubblewrap. */

type Shown = Extract<Trial, { readonly files: unknown }>;

let server: RunnerServer;
let story: RunnerStory;
let people = 0;
beforeAll(async () => {
  server = await RunnerServer.start();
});
afterAll(() => server?.close());
beforeEach(async () => {
  people += 1;
  story = await RunnerStory.open(server, `ada-${people}`);
  story.write('README.md', '# Hello\n');
  await story.startRunner();
});
afterEach(() => story?.close());

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: ApiError) => error.code,
  );

async function ask(tool: string, params: object): Promise<string> {
  const asked = await story.ask(tool, params);
  if (typeof asked !== 'string') throw new Error(asked.message);
  return asked;
}

const trialOf = ({ preview }: Pick<Card, 'preview'>): Trial | undefined =>
  preview?.kind === 'command' ? preview.trial : undefined;
const shownIn = (card: Pick<Card, 'preview'>): Shown => {
  const trial = trialOf(card);
  if (!trial || 'problem' in trial) throw new Error(`no trial is shown: ${JSON.stringify(trial)}`);
  return trial;
};

const tryIt = ({ approval_id, project_id }: Card) =>
  story.person.client.tryCall({ params: { approval_id, project_id }, body: { device: 'phone' } });

/** The card in full: events leave out large previews (EV-2). */
async function wholeCard(card: Card): Promise<Card> {
  if (!card.omitted?.includes('preview')) return card;
  const { approval } = await story.person.client.getApproval({ params: { approval_id: card.approval_id } });
  return { ...card, preview: approval.preview };
}

/** Asks for a line to be tried. Resolves with the card before and the one with the outcome. */
async function tried(
  command: string,
  more: object = {},
): Promise<{ toolId: string; plain: Card; card: Card }> {
  const toolId = await ask('shell_exec', { command, ...more });
  const plain = await story.card(toolId);
  const { approval } = await tryIt(plain);
  expect([approval.trying, approval.status]).toEqual([true, 'pending']);
  const card = await story.card(toolId, ({ digest, trying }) => digest !== plain.digest && trying !== true);
  return { toolId, plain, card: await wholeCard(card) };
}

/** The layers of the runner's state folder. */
function layers(): string[] {
  const state = join(story.home, '.local/state/countersign');
  return readdirSync(state).flatMap((name) => {
    const folder = join(state, name, 'layers');
    return existsSync(folder) ? readdirSync(folder).map((id) => join(folder, id)) : [];
  });
}
const untilNoLayer = () =>
  until(() => layers().length === 0, { otherwise: () => `layers are left: ${layers().join(', ')}` });

describe.skipIf(cannotIsolate)('[RN-13] a trial', () => {
  it('[AP-8] shows the effects, and approving lands them without running again', async () => {
    story.write('old/a.txt', 'a\n');
    story.write('count.txt', '');
    const line =
      'echo ran >> count.txt; rm -r old; mkdir made; echo new > made/n.md; chmod 755 README.md; exit 3';
    const { toolId, plain, card } = await tried(line);
    expect(story.read('count.txt')).toBe('');
    const { files, ...trial } = shownIn(card);
    expect(trial).toMatchObject({
      ended: 'exit',
      exit_code: 3,
      stdout: '',
      counts: { created: 2, modified: 1, deleted: 2, mode: 1 },
      withheld: [],
      left_out: [],
      hosts: [],
    });
    expect(files.map(({ path, change }) => `${change} ${path}`)).toEqual([
      'deleted old',
      'mode README.md',
      'modified count.txt',
      'created made',
      'created made/n.md',
    ]);
    expect(files.find(({ path }) => path === 'made/n.md')?.diff).toContain('+new');
    expect(card.preview).toMatchObject({ reversible: true });
    expect(plain.preview).toMatchObject({ reversible: false });

    expect(await codeOf(story.approve(plain))).toBe('PREVIEW_CHANGED');
    expect(existsSync(story.at('old/a.txt'))).toBe(true);
    await story.approve(card);
    const { status, result } = await story.untilFinal(toolId);
    expect([status, result.exit_code, result.undoable]).toEqual(['completed', 3, true]);
    expect(story.read('count.txt')).toBe('ran\n');
    expect(existsSync(story.at('old'))).toBe(false);
    expect(story.read('made/n.md')).toBe('new\n');
    expect(lstatSync(story.at('README.md')).mode & 0o777).toBe(0o755);
    await untilNoLayer();

    await story.undo(toolId);
    expect([story.read('count.txt'), story.read('old/a.txt'), existsSync(story.at('made'))]).toEqual([
      '',
      'a\n',
      false,
    ]);
  });

  it('of a command that changes nothing, and of one program', async () => {
    story.write('say.js', 'console.log(process.argv[2]);\n');
    const toolId = await ask('execute_command', { command: 'node', args: ['say.js', 'hello'] });
    const plain = await story.card(toolId);
    await tryIt(plain);
    const card = await story.card(toolId, ({ digest }) => digest !== plain.digest);
    expect(shownIn(card)).toMatchObject({ stdout: 'hello\n', exit_code: 0, files: [] });
    await story.approve(card);
    expect((await story.untilFinal(toolId)).result).toMatchObject({ success: true, stdout: 'hello\n' });
  });

  it('[AP-8] is stale if a file below it changed, and is made again by itself', async () => {
    story.write('count.txt', '0\n');
    const { toolId, card } = await tried('echo ran >> count.txt');
    story.write('count.txt', 'mine\n');
    await story.approve(card);
    const again = await wholeCard(
      await story.card(toolId, (one) => one.approval_id !== card.approval_id && trialOf(one) !== undefined),
    );
    expect(story.read('count.txt')).toBe('mine\n');
    expect(shownIn(again).files[0]?.diff).toContain(' mine\n+ran');
    await story.approve(again);
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'completed' });
    expect(story.read('count.txt')).toBe('mine\nran\n');
  });

  it('ends with its approval: rejecting drops it, and the workspace is as it was', async () => {
    const { toolId, card } = await tried('echo x > made.txt');
    expect(layers()).toHaveLength(1);
    const { approval_id, project_id } = card;
    await story.person.client.reject({ params: { approval_id, project_id }, body: {} });
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'rejected' });
    await untilNoLayer();
    expect(existsSync(story.at('made.txt'))).toBe(false);
  });

  it('does not extend the deadline, and is announced to front ends while it runs', async () => {
    const { plain, card } = await tried('sleep 1; echo x > made.txt');
    const updates = story.person
      .all('approval.updated')
      .filter((one) => one.approval_id === card.approval_id);
    expect(updates.map(({ trying = false }) => trying)).toEqual([false, true, false]);
    expect(card.expires_at).toBe(plain.expires_at);
    expect(updates.map(({ timeout_seconds }) => timeout_seconds)).toEqual(
      updates.map(() => plain.timeout_seconds),
    );
  });

  it('names what would execute later, and lands the rest (VA-3)', async () => {
    story.git('init', '-q');
    const { toolId, card } = await tried('mkdir -p .vscode; echo {} > .vscode/tasks.json; echo x > made.txt');
    expect(shownIn(card).withheld).toEqual(['.vscode']);
    expect(shownIn(card).files.map(({ path }) => path)).toEqual(['made.txt']);
    await story.approve(card);
    expect((await story.untilFinal(toolId)).result.stderr).toContain('.vscode');
    expect([existsSync(story.at('made.txt')), existsSync(story.at('.vscode'))]).toEqual([true, false]);
  });

  it('of a command that took its own folders away lands with their modes', async () => {
    const { toolId, card } = await tried(
      'mkdir -p shut/inner; echo x > shut/inner/f; chmod 0 shut/inner/f shut/inner shut',
    );
    await story.approve(card);
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'completed' });
    expect(lstatSync(story.at('shut')).mode & 0o777).toBe(0);
    chmodSync(story.at('shut'), 0o700);
  });

  it('that runs too long or writes too much shows that, and approving runs the command', async () => {
    mkdirSync(join(story.home, '.config/countersign'), { recursive: true });
    writeFileSync(
      join(story.home, '.config/countersign/runner.json'),
      JSON.stringify({ version: 1, trials: { seconds: 2, files: 50 } }),
      { mode: 0o600 },
    );
    const slow = await tried('test -e go || sleep 60; echo ran > made.txt');
    expect(shownIn(slow.card)).toMatchObject({ ended: 'timeout', exit_code: null, files: [] });
    story.write('go', '');
    await story.approve(slow.card);
    expect(await story.untilFinal(slow.toolId)).toMatchObject({ status: 'completed' });
    expect(story.read('made.txt')).toBe('ran\n');
    const many = await tried('mkdir m; for i in $(seq 200); do : > m/$i; done; sleep 30');
    expect(shownIn(many.card)).toMatchObject({ ended: 'limit', files: [] });
    await untilNoLayer();
  });
});

describe.skipIf(cannotIsolate)('[RN-13] [RE-3] what cannot be tried', () => {
  it.each([
    ['shell_exec', { command: 'npm install', network: true }],
    ['shell_background', { command: 'sleep 5' }],
    ['write_file', { path: 'a.md', content: 'a' }],
  ] as const)('%s %o', async (tool, params) => {
    const toolId = await ask(tool, params);
    expect(await codeOf(tryIt(await story.card(toolId)))).toBe('NOT_TRYABLE');
  });

  it('what is tried already, was decided, or is of somebody else', async () => {
    const toolId = await ask('shell_exec', { command: 'sleep 3; echo x > made.txt' });
    const plain = await story.card(toolId);
    await tryIt(plain);
    expect(await codeOf(tryIt(plain))).toBe('TRIAL_RUNNING');
    const other = await RunnerStory.open(server, `bob-${people}`);
    try {
      const { approval_id } = plain;
      const params = [plain.project_id, other.projectId].map((project_id) => ({ approval_id, project_id }));
      for (const one of params)
        expect(await codeOf(other.person.client.tryCall({ params: one, body: {} }))).toBe('NOT_FOUND');
    } finally {
      await other.close();
    }
    await story.approve(plain); // while it is tried: it runs as it was shown
    expect(await codeOf(tryIt(plain))).toBe('ALREADY_DECIDED');
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'completed' });
    await untilNoLayer();
  });

  it('a program that runner.json runs without a layer is said on the card', async () => {
    mkdirSync(join(story.home, '.config/countersign'), { recursive: true });
    const settings = { version: 1, programs: { node: { layer: false } } };
    writeFileSync(join(story.home, '.config/countersign/runner.json'), JSON.stringify(settings), {
      mode: 0o600,
    });
    const { card } = await tried("node -e '1'");
    expect(trialOf(card)).toMatchObject({ problem: expect.stringContaining('"node"') });
  });
});

describe.skipIf(cannotIsolate)('[RN-13] [AP-10] a runner that dies', () => {
  it('while it tries: the trial ends, and the request is drawn anew', async () => {
    const toolId = await ask('shell_exec', { command: 'sleep 25; echo x > made.txt' });
    const plain = await story.card(toolId);
    await tryIt(plain);
    await story.card(toolId, ({ trying }) => trying === true);
    await until(() => layers().length > 0, { otherwise: () => 'nothing is tried' });
    await story.runner.end('SIGKILL');
    await story.startRunner();
    const anew = await story.card(toolId, ({ trying }) => trying !== true);
    expect(trialOf(anew)).toBeUndefined();
    await untilNoLayer();
    const { approval_id, project_id } = anew;
    await story.person.client.reject({ params: { approval_id, project_id }, body: {} });
  });

  it('after it tried: the card without the trial comes back, and another trial may be asked for', async () => {
    const { toolId, card } = await tried('echo x > made.txt');
    await story.runner.end('SIGKILL');
    await story.startRunner();
    const anew = await story.card(toolId, ({ digest }) => digest !== card.digest);
    expect(trialOf(anew)).toBeUndefined();
    expect(await codeOf(story.approve(card))).toBe('PREVIEW_CHANGED');
    await tryIt(anew);
    const again = await story.card(toolId, (one) => trialOf(one) !== undefined && one.digest !== card.digest);
    await story.approve(again);
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'completed' });
    expect(story.read('made.txt')).toBe('x\n');
  });
});

describe.skipIf(cannotIsolate)('[RN-13] [AP-9] a hostile trial', () => {
  it('reaches no network, no secret, no server and no token', async () => {
    const heard: string[] = [];
    const listener = createServer((socket) => {
      heard.push('connected');
      socket.destroy();
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address() as { port: number };
    story.write('.env', 'SECRET=hunter22\n');
    const probe = `import os, socket, subprocess
for host, port in (('127.0.0.1', ${port}), ('127.0.0.1', ${new URL(server.url).port})):
    try:
        socket.create_connection((host, port), 2); print('REACHED', port)
    except OSError as e: print('refused')
print(open('.env').read())
for root, _, names in os.walk(${JSON.stringify(story.home)}):
    for name in names: print('HOME', name)
print(subprocess.run(['sh', '-c', 'curl -s -m 2 http://example.org/ || true'], capture_output=True).stdout.decode())
print('end')
`;
    story.write('probe.py', probe);
    const { card } = await tried('python3 probe.py');
    const { stdout } = shownIn(card);
    listener.close();
    expect(stdout).toMatch(/end\s*$/);
    expect(stdout).not.toMatch(/REACHED|hunter22|HOME/);
    expect(heard).toEqual([]);
  });

  it('leaves no process, and its layer is out of reach of later commands of the conversation', async () => {
    const { card } = await tried('(setsid sleep 300 &) ; echo x > made.txt');
    expect(shownIn(card).ended).toBe('exit');
    await until(() => !story.processes().some((line) => line.includes('sleep 300')), {
      otherwise: () => 'a process is left',
    });
    const [layer = ''] = layers();
    story.write(
      'look.js',
      `const { readdirSync } = require('node:fs');
       for (const path of ${JSON.stringify([layer, `${layer}/upper`])})
         try { console.log('FOUND', readdirSync(path)); } catch (error) { console.log(error.code); }
       console.log(readdirSync('.').join(' '));`,
    );
    const look = await story.call('shell_exec', { command: 'node look.js' });
    expect(look.result.stdout).toBe('ENOENT\nENOENT\nREADME.md look.js\n');
  });

  it('lands nothing but what was shown: a layer that was changed since is stale', async () => {
    const { toolId, card } = await tried('mkdir d; echo shown > d/f.txt');
    const [layer = ''] = layers();
    const swapped = join(layer, 'upper/d/f.txt');
    rmSync(swapped);
    symlinkSync('/etc/passwd', swapped);
    await story.approve(card);
    const again = await story.card(
      toolId,
      (one) => one.approval_id !== card.approval_id && trialOf(one) !== undefined,
    );
    expect(existsSync(story.at('d'))).toBe(false);
    expect(shownIn(again).files.map(({ path }) => path)).toEqual(['d', 'd/f.txt']);
    await story.approve(again);
    await story.untilFinal(toolId);
    expect(story.read('d/f.txt')).toBe('shown\n');
  });

  it('shows names full of hidden signs, links and what they are', async () => {
    const { toolId, card } = await tried(`: > "$(printf 'a\\342\\200\\256b\\nc')"; ln -s /etc/passwd link`);
    const { files } = shownIn(card);
    expect(files.map(({ path }) => path).sort()).toEqual(['a⟨U+202E⟩b⟨U+000A⟩c', 'link']);
    expect(files.find(({ path }) => path === 'link')?.diff).toContain('/etc/passwd');
    await story.approve(card);
    await story.untilFinal(toolId);
    expect(readlinkSync(story.at('link'))).toBe('/etc/passwd');
  });
});

it.skipIf(cannotIsolate)(
  '[RN-13] [AP-4] a grant does not land a trial: the call runs as always',
  async () => {
    story.write('count.txt', '');
    story.write('count.js', "require('node:fs').appendFileSync('count.txt', 'ran\\n');\n");
    story.write('other.js', '');
    const { toolId, card } = await tried('node count.js');
    expect(shownIn(card).files.map(({ path }) => path)).toEqual(['count.txt']);
    const other = await ask('shell_exec', { command: 'node other.js' });
    await story.approve(await story.card(other), { scope: 'session' });
    expect(await story.untilFinal(other)).toMatchObject({ status: 'completed' });
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'completed' });
    expect(story.read('count.txt')).toBe('ran\n');
    await untilNoLayer();
  },
);

it.skipIf(cannotIsolate)(
  '[RN-13] [RN-2] a trial lands only if it was approved where the ceiling says',
  async () => {
    const { toolId, card } = await tried('echo x > made.txt');
    mkdirSync(join(story.home, '.config/countersign'), { recursive: true });
    const ceiling = { version: 1, decide_here: ['MEDIUM', 'HIGH'] };
    writeFileSync(join(story.home, '.config/countersign/ceiling.json'), JSON.stringify(ceiling), {
      mode: 0o600,
    });
    await story.approve(card);
    await story.card(toolId, ({ approval_id }) => approval_id !== card.approval_id);
    expect(existsSync(story.at('made.txt'))).toBe(false);
  },
);
