import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ManualClock } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LspExecutor, LspExecutorOptions } from './lsp-executor.ts';
import { callTool, codeOf, LspFixture } from './lsp-fixture.test-data.ts';
import type { ConfiguredServer } from './server-definition.ts';

const fakeProgram = fileURLToPath(new URL('fake-language-server.test-data.ts', import.meta.url));

/** A server of the person's own configuration that behaves in one odd way. */
const fake = (behaviour: string, file = ''): ConfiguredServer => ({
  language: 'fake',
  extensions: ['.fake'],
  command: process.execPath,
  args: [fakeProgram, behaviour, file],
});

let fixture: LspFixture;
beforeEach(() => {
  fixture = new LspFixture({ 'a.fake': 'a😀b\nsecond\n', 'b.fake': 'other\n' }, { isolated: false });
});
afterEach(() => fixture.dispose());

/** The fakes answer at once. */
const quick = { quietMs: 20, settleMs: 60, updateMs: 100, shutdownMs: 300 };

const setUp = (behaviour: string, file = '', options: Partial<LspExecutorOptions> = {}): LspExecutor =>
  fixture.executor({ servers: [fake(behaviour, file)], waits: quick, ...options });

const at = { path: 'a.fake', line: 1, col: 1 };
/** What the fake was told so far. */
const heard = async (lsp: LspExecutor, place: object = at) =>
  JSON.parse((await callTool(lsp, 'hover', place)).contents) as Record<string, unknown>[];
const failureOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => undefined,
    (failure: unknown) => failure as { code: string; message: string; cause?: Error },
  );
  return { code: error?.code, message: error?.message, cause: error?.cause?.message };
};

/** Where a fake leaves a trace. */
const traceOf = (name: string) => join(fixture.workspace.stateFolder, name);
const seen = (trace: string) => vi.waitUntil(() => existsSync(trace), { interval: 5 });

/** Advances the clock step by step until the event has happened, and leaves real programs some time for each step. */
async function passTime<T>(clock: ManualClock, stepMs: number, event: Promise<T>): Promise<T> {
  let hasHappened = false;
  const happened = () => {
    hasHappened = true;
  };
  event.then(happened, happened);
  while (!hasHappened) {
    await clock.advance(stepMs);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return event;
}

describe('[RN-7] which server answers', () => {
  it('says so when no server is known, and starts nothing', async () => {
    fixture.write('x.unknown', 'x');
    fixture.write('Makefile', 'x');
    const lsp = fixture.executor();
    expect(await failureOf(callTool(lsp, 'symbols', { path: 'x.unknown' }))).toMatchObject({
      code: 'NO_LANGUAGE_SERVER',
      message: expect.stringContaining('.unknown files'),
    });
    expect(await codeOf(callTool(lsp, 'symbols', { path: 'Makefile' }))).toBe('NO_LANGUAGE_SERVER');
    expect(fixture.requests).toEqual([]);
  });

  it("prefers the person's own configuration", async () => {
    fixture.write('x.ts', 'const x = 1;\n');
    const lsp = fixture.executor({ waits: quick, servers: [{ ...fake('plain'), extensions: ['.ts'] }] });
    expect((await callTool(lsp, 'hover', { path: 'x.ts', line: 1, col: 1 })).contents).toContain('didOpen');
  });

  it('[VA-1] [VA-2] opens nothing outside, nothing sensitive, nothing that is no text', async () => {
    fixture.write('../outside.py', 'secret = 1\n');
    fixture.write('.env', 'SECRET=1\n');
    fixture.write('program.fake', new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 3]));
    fixture.write('large.fake', 'x'.repeat(5 * 1024 * 1024));
    mkdirSync(join(fixture.workspace.root, 'folder.fake'));
    symlinkSync('../outside.py', join(fixture.workspace.root, 'link.py'));
    symlinkSync('.env', join(fixture.workspace.root, 'env.py'));
    const lsp = setUp('plain');
    const paths = ['../outside.py', 'link.py', '.env', 'env.py', 'none.fake', 'folder.fake', 'a.fake/x.fake'];
    const codes = await Promise.all(
      [...paths, 'program.fake', 'large.fake'].map((path) => codeOf(callTool(lsp, 'symbols', { path }))),
    );
    expect(codes).toEqual([
      'PATH_OUTSIDE_WORKSPACE',
      'PATH_OUTSIDE_WORKSPACE',
      'PATH_SENSITIVE',
      'PATH_SENSITIVE',
      'FILE_NOT_FOUND',
      'IS_A_DIRECTORY',
      'FILE_NOT_FOUND',
      'BINARY_FILE',
      'FILE_TOO_LARGE',
    ]);
    expect(fixture.requests).toEqual([]);
  });

  it('reports a program that cannot be started', async () => {
    const lsp = fixture.executor({
      waits: quick,
      servers: [{ ...fake('plain'), command: '/nowhere/server' }],
    });
    expect(await codeOf(callTool(lsp, 'symbols', { path: 'a.fake' }))).toBe('PROGRAM_NOT_FOUND');
  });

  it('executes its own tools only', async () => {
    expect(await codeOf(callTool(setUp('plain'), 'read_file', { path: 'a.fake' }))).toBe('UNKNOWN_TOOL');
  });
});

describe('positions', () => {
  it('[TL-2] are counted as the server agreed to count', async () => {
    const lsp = setUp('utf-32', '');
    const wrongCol = await failureOf(callTool(lsp, 'hover', { path: 'a.fake', line: 1, col: 5 }));
    expect(wrongCol).toMatchObject({
      code: 'INVALID_PARAMS',
      message: expect.stringContaining('col 5 is behind the end of line 1, which has 3 characters'),
    });
    const wrongLine = await failureOf(callTool(lsp, 'definition', { path: 'a.fake', line: 9, col: 1 }));
    expect(wrongLine.message).toContain('line 9 is behind the end; the file has 3 lines');
    expect(await codeOf(callTool(lsp, 'hover', { path: 'a.fake', line: 1, col: 4 }))).toBeUndefined();
  });

  it('refuses a server that counts differently from what was offered, or says nothing of itself', async () => {
    for (const behaviour of ['utf-8', 'no-capabilities']) {
      expect(await codeOf(callTool(setUp(behaviour), 'hover', at))).toBe('LANGUAGE_SERVER_FAILED');
    }
    expect(fixture.running).toBe(0);
  });
});

describe('a server that fails', () => {
  it('is started again once, and the call goes on', async () => {
    const lsp = setUp('crash-once', join(fixture.workspace.stateFolder, 'crashed'));
    expect((await callTool(lsp, 'hover', at)).contents).toBe('back again');
    expect(fixture.requests).toHaveLength(2);
  });

  it('is reported when it dies again, with its last words for the log', async () => {
    const lsp = setUp('crash');
    expect(await failureOf(callTool(lsp, 'hover', at))).toEqual({
      code: 'LANGUAGE_SERVER_FAILED',
      message: 'The fake language server failed: it ended with 3. Try again.',
      cause: 'out of luck\n',
    });
    expect(fixture.requests).toHaveLength(2);
    expect(fixture.running).toBe(0);
  });

  it.each([
    ['garbage', 'not the language server protocol'],
    ['no-length', 'no Content-Length'],
    ['huge', '99999999999 bytes'],
    ['not-json', 'is not JSON'],
    ['cancels-nothing', 'makes no sense'],
  ])('is ended when it writes what is no message: %s', async (behaviour, problem) => {
    const failure = await failureOf(callTool(setUp(behaviour), 'hover', at));
    expect(failure).toMatchObject({
      code: 'LANGUAGE_SERVER_FAILED',
      message: expect.stringContaining(problem),
    });
    await fixture.starter.stop(fixture.children[0] as ChildProcess);
    expect([fixture.requests.length, fixture.running]).toEqual([1, 0]);
  });

  it('that closes its output counts as dead', async () => {
    const { message } = await failureOf(callTool(setUp('closed-output'), 'hover', at));
    expect(message).toContain('it closed its output');
  });

  it('is ended when it does not answer in time, and the next call gets a new one', async () => {
    const clock = new ManualClock();
    const lsp = setUp('hang', traceOf('hang'), { clock });
    for (const servers of [1, 2]) {
      const call = failureOf(callTool(lsp, 'hover', at));
      await passTime(clock, 1, seen(traceOf('hang.asked')));
      rmSync(traceOf('hang.asked'));
      expect((await passTime(clock, 1_000, call)).message).toContain(
        'it did not answer textDocument/hover within 120 s',
      );
      expect(fixture.requests).toHaveLength(servers);
    }
  });

  it('is waited for no longer than that when it starts', async () => {
    const clock = new ManualClock();
    const call = failureOf(callTool(setUp('mute', traceOf('mute'), { clock }), 'hover', at));
    await seen(traceOf('mute.asked'));
    expect((await passTime(clock, 1_000, call)).message).toContain('did not answer initialize');
  });

  it('says what it refused', async () => {
    const { message } = await failureOf(callTool(setUp('refuses'), 'hover', at));
    expect(message).toContain('textDocument/hover was refused: no idea');
  });

  it.each([
    ['hover', '{"contents": 5}'],
    ['hover', '[]'],
    ['definition', '[null]'],
    ['definition', '{"uri": "file:///x", "range": 1}'],
    ['references', '"everywhere"'],
    ['symbols', '{"name": "x"}'],
    ['symbols', '[{"name": "x", "kind": "y"}]'],
    ['symbols', '[null]'],
    ['symbols', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['diagnostics', '{"kind": "full", "items": [null]}'],
    ['diagnostics', '{"kind": "full", "items": [{"range": 1, "message": "x"}]}'],
    ['diagnostics', '{"kind": "unchanged"}'],
  ] as const)('cannot crash us by answering %s with %.40s', async (tool, value) => {
    const params = tool === 'symbols' || tool === 'diagnostics' ? { path: 'a.fake' } : at;
    expect(await codeOf(callTool(setUp('wrong', value), tool, params))).toBe('LANGUAGE_SERVER_FAILED');
  });
});

describe('a server that is only unusual', () => {
  it('may send its messages in pieces', async () => {
    expect((await callTool(setUp('halves'), 'hover', at)).contents).toBe('in small pieces 😀');
  });

  it.each(['nonsense', 'scalars'])('may send what the protocol does not have: %s', async (behaviour) => {
    const lsp = setUp(behaviour);
    expect((await callTool(lsp, 'hover', at)).contents).toBe('and so on');
    expect((await callTool(lsp, 'hover', at)).contents).toBe('and so on');
    expect(fixture.requests).toHaveLength(1);
  });

  it('may talk a lot', async () => {
    expect((await callTool(setUp('flood'), 'hover', at)).contents).toBe('after the flood');
  });

  it('may ask to be asked again', async () => {
    expect((await callTool(setUp('busy'), 'hover', at)).contents).toBe('at last');
  });

  it('is waited for while it announces work, until it repeats itself', async () => {
    const { locations } = await callTool(setUp('loading'), 'references', at);
    expect(locations).toHaveLength(3);
  });

  it('gets an answer to each of its own questions, and may change nothing', async () => {
    const settings = { fake: { deep: 7 } };
    const lsp = fixture.executor({ waits: quick, servers: [{ ...fake('asks'), settings }] });
    const answers = (await heard(lsp)).filter(({ id }) => id !== undefined);
    const root = pathToFileURL(fixture.workspace.root).href;
    expect(answers).toEqual([
      { id: 'workspace/configuration', result: [{ deep: 7 }, 7, null, { fake: { deep: 7 } }] },
      { id: 'workspace/workspaceFolders', result: [{ uri: `${root}/`.slice(0, -1), name: 'workspace' }] },
      { id: 'workspace/applyEdit', result: { applied: false } },
      { id: 'window/showDocument', result: { success: false } },
      { id: 'window/showMessageRequest', result: null },
      { id: 'workspace/semanticTokens/refresh', result: null },
      { id: 'client/registerCapability', result: null },
      { id: 'client/unregisterCapability', result: null },
      { id: 'workspace/nonsense', error: -32_601 },
    ]);
  });

  it('may publish diagnostics by itself: those of the current version, once they have settled', async () => {
    const lsp = setUp('pushes', '', { waits: { ...quick, settleMs: 400 } });
    const messages = async () =>
      (await callTool(lsp, 'diagnostics', { path: 'a.fake' })).diagnostics.map(
        ({ message }: { message: string }) => message,
      );
    expect(await messages()).toEqual(['syntax', 'types']);
    fixture.write('a.fake', 'changed\n');
    expect(await messages()).toEqual(['syntax', 'types']);
    fixture.write('b.fake', 'changed too\n');
    expect(await messages()).toEqual(['syntax', 'types']);
  });

  it('may publish them without a version', async () => {
    const lsp = setUp('pushes-unversioned');
    expect((await callTool(lsp, 'diagnostics', { path: 'a.fake' })).diagnostics).toHaveLength(1);
  });

  it('that publishes none is reported: silence does not mean that there is no error', async () => {
    const clock = new ManualClock();
    const lsp = setUp('plain', '', { clock });
    await passTime(clock, 1, callTool(lsp, 'hover', at));
    const call = failureOf(callTool(lsp, 'diagnostics', { path: 'a.fake' }));
    const { message } = await passTime(clock, 1_000, call);
    expect(message).toContain('it published no diagnostics within 30 s');
  });
});

describe('what is shown', () => {
  it('[VA-1] [VA-2] only files inside the workspace, and never sensitive ones', async () => {
    fixture.write('.env', 'SECRET=1\n');
    fixture.write('../outside.txt', 'CANARY\n');
    symlinkSync('../outside.txt', join(fixture.workspace.root, 'link.txt'));
    const root = pathToFileURL(fixture.workspace.root).href;
    const places = [
      `${root}/b.fake`,
      `${root}/../outside.txt`,
      `${root}/%2e%2e/outside.txt`,
      `${root}/..%2foutside.txt`,
      `${root}/link.txt`,
      `${root}/.env`,
      `${root}/%2eenv`,
      `${root}/missing.fake`,
      `${root}`,
      'file:///etc/passwd',
      'file://host/etc/passwd',
      'https://example.org/x',
      'nonsense',
    ];
    const answer = await callTool(setUp('locations', JSON.stringify(places)), 'definition', at);
    expect(answer).toEqual({
      success: true,
      locations: [{ path: 'b.fake', line: 1, col: 1, end_line: 1, end_col: 2, text: 'other' }],
      truncated: false,
      outside_workspace: 7,
    });
  });

  it('[TL-3] no more than the limit of entries', async () => {
    await fixture.dispose();
    fixture = new LspFixture(
      { 'a.fake': `${'y'.repeat(10_000)}\n` },
      { isolated: false, limits: { entries: 2 } },
    );
    const uri = pathToFileURL(join(fixture.workspace.root, 'a.fake')).href;
    const lsp = setUp('locations', JSON.stringify([uri, uri, uri]));
    const answer = await callTool(lsp, 'references', at);
    expect([answer.locations.length, answer.truncated]).toEqual([2, true]);
    expect(answer.locations[0].text).toBe(`${'y'.repeat(500)}…`);

    const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
    const flat = (name: string) => ({ name, kind: 12, containerName: '', location: { uri, range } });
    const found = ['p', 'q', 'r'].map((message) => ({ range, message, code: 5, source: 's', severity: 2 }));
    const diagnostics = setUp('wrong', JSON.stringify({ kind: 'full', items: found }));
    expect(await callTool(diagnostics, 'diagnostics', { path: 'a.fake' })).toMatchObject({
      diagnostics: [{ message: 'p', code: '5', source: 's', severity: 'warning' }, { message: 'q' }],
      truncated: true,
    });
    const symbols = setUp('wrong', JSON.stringify(['p', 'q', 'r'].map(flat)));
    expect(await callTool(symbols, 'symbols', { path: 'a.fake' })).toMatchObject({
      symbols: [{ name: 'p', kind: 'function' }, { name: 'q' }],
      truncated: true,
    });
  });

  it('hover in every form of the protocol', async () => {
    const hover = async (contents: unknown) =>
      (await callTool(setUp('wrong', JSON.stringify({ contents })), 'hover', at)).contents;
    expect(await hover({ kind: 'markdown', value: 'marked' })).toBe('marked');
    expect(await hover(['one', { language: 'x', value: 'two' }])).toBe('one\n\n```x\ntwo\n```');
    expect(await hover('')).toBeNull();
  });
});

describe('what a server is told', () => {
  it('a new content as a new version, other changes as events, a lost file as closed', async () => {
    const lsp = setUp('plain');
    await heard(lsp, { path: 'b.fake', line: 1, col: 1 });
    await heard(lsp);
    fixture.write('a.fake', 'new\n');
    fixture.write('c.fake', 'new\n');
    fixture.remove('b.fake');
    const root = pathToFileURL(fixture.workspace.root).href;
    const messages = (await heard(lsp)).slice(2);
    expect(messages).toContainEqual({ method: 'textDocument/didChange', version: 3 });
    expect(messages).toContainEqual({
      method: 'textDocument/didClose',
      textDocument: { uri: `${root}/b.fake` },
    });
    const events = messages
      .filter(({ method }) => method === 'workspace/didChangeWatchedFiles')
      .flatMap(({ changes }) => changes as unknown[]);
    expect(events).toEqual(
      expect.arrayContaining([
        { uri: `${root}/a.fake`, type: 2 },
        { uri: `${root}/c.fake`, type: 1 },
        { uri: `${root}/b.fake`, type: 3 },
      ]),
    );
  });

  it('no more documents than it should keep', async () => {
    const lsp = setUp('plain');
    for (let i = 0; i < 70; i += 1) fixture.write(`many/${i}.fake`, `${i}\n`);
    let last: Record<string, unknown>[] = [];
    for (let i = 0; i < 70; i += 1) last = await heard(lsp, { path: `many/${i}.fake`, line: 1, col: 1 });
    const count = (method: string) => last.filter((message) => message.method === method).length;
    expect([count('textDocument/didOpen'), count('textDocument/didClose')]).toEqual([70, 6]);
  });

  it('nothing any more after packages were installed: a new one takes its place', async () => {
    const lsp = setUp('plain');
    await heard(lsp);
    fixture.write('node_modules/.package-lock.json', '{}');
    await heard(lsp);
    expect(fixture.requests.length).toBeGreaterThan(1);
  });
});

describe('cancelling and stopping', () => {
  it('a cancelled call ends at once, and the server is told', async () => {
    const lsp = setUp('hang', traceOf('hang'));
    const controller = new AbortController();
    const calls = [1, 2].map(() => codeOf(callTool(lsp, 'hover', at, controller.signal)));
    await seen(traceOf('hang.asked'));
    controller.abort();
    expect(await Promise.all(calls)).toEqual(['EXECUTION_CANCELLED', 'EXECUTION_CANCELLED']);
    await seen(traceOf('hang.cancelled'));
    expect(await codeOf(callTool(lsp, 'hover', at, controller.signal))).toBe('EXECUTION_CANCELLED');
    expect([fixture.requests.length, fixture.running]).toEqual([1, 1]);
  });

  it('a call that is cancelled while its server starts does not wait for it', async () => {
    const lsp = setUp('mute', traceOf('mute'));
    const controller = new AbortController();
    const call = codeOf(callTool(lsp, 'hover', at, controller.signal));
    await seen(traceOf('mute.asked'));
    controller.abort();
    expect(await call).toBe('EXECUTION_CANCELLED');
  });

  it('dispose ends every server, also one that hangs or is starting, and cancels what waits', async () => {
    const lsp = setUp('hang', traceOf('hang'));
    const starting = setUp('mute', traceOf('mute'));
    const calls = [lsp, starting].map((executor) => codeOf(callTool(executor, 'hover', at)));
    await Promise.all([seen(traceOf('hang.asked')), seen(traceOf('mute.asked'))]);
    await Promise.all([lsp.dispose(), starting.dispose()]);
    expect(await Promise.all(calls)).toEqual(['EXECUTION_CANCELLED', 'EXECUTION_CANCELLED']);
    expect(fixture.running).toBe(0);
    await lsp.dispose();
    expect(await codeOf(callTool(lsp, 'hover', at))).toBe('EXECUTION_CANCELLED');
  });

  it('a polite server ends by itself, a deaf one is ended', async () => {
    const polite = setUp('plain');
    await heard(polite);
    await polite.dispose();
    expect(fixture.children[0]).toMatchObject({ exitCode: 0, signalCode: null });
    const deaf = setUp('deaf', traceOf('deaf'));
    const call = codeOf(callTool(deaf, 'hover', at));
    await seen(traceOf('deaf.asked'));
    await deaf.dispose();
    expect(await call).toBe('EXECUTION_CANCELLED');
    expect(fixture.children[1]).toMatchObject({ exitCode: null, signalCode: 'SIGTERM' });
  });

  it('a server that was idle for some minutes is stopped, and started again on demand', async () => {
    fixture.write('x.ts', 'const x = 1;\n');
    const clock = new ManualClock();
    const lsp = fixture.executor({ clock, waits: { idleMs: 60_000 } });
    const ask = () => callTool(lsp, 'symbols', { path: 'x.ts' });
    await ask();
    await clock.advance(59_000);
    await ask();
    await clock.advance(59_000);
    expect(fixture.running).toBe(1);
    const ended = new Promise((resolve) => fixture.children[0]?.once('exit', resolve));
    await clock.advance(1_000);
    await ended;
    expect(fixture.running).toBe(0);
    await ask();
    expect(fixture.requests).toHaveLength(2);
  });
});
