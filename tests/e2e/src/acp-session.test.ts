/** A whole session of an ACP editor: the official client starts `countersign acp` as an editor does (UI-5). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  client as acpClient,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../lab/src/waiting.ts';
import { PseudoTerminal } from './pseudo-terminal.ts';
import { Machine, type PipedProcess } from './up-process.ts';

let machine: Machine;
let workspace: string;
let started: PipedProcess;
const updates: SessionUpdate[] = [];
const asked: RequestPermissionRequest[] = [];
/** The option that the person chooses next; undefined: no decision. */
let presses: string | undefined;

beforeAll(async () => {
  machine = new Machine();
  workspace = machine.folder('shop', { 'price.ts': 'export const price = 1;\n', 'old.txt': 'x\n' });
  await machine.up(workspace, '--json').ready();
  const terminal = new PseudoTerminal(['acp', '--pair'], machine.env);
  await terminal.shows('approve and reject, HIGH risk too');
  await terminal.shows('[y/N]');
  terminal.press('y\r');
  expect(await terminal.ended).toBe(0);
  started = machine.piped('acp');
});
afterAll(() => machine?.close());

const at = (name: string) => join(workspace, name);

function connect() {
  return acpClient({ name: 'editor' })
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      asked.push(params);
      const option = presses;
      if (option === undefined) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        return { outcome: { outcome: 'cancelled' as const } };
      }
      await new Promise((resolve) => setTimeout(resolve, 600)); // reading time
      return { outcome: { outcome: 'selected' as const, optionId: option } };
    })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update);
    })
    .connect(
      ndJsonStream(
        Writable.toWeb(started.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(started.stdout) as unknown as ReadableStream<Uint8Array>,
      ),
    );
}

it('[UI-5] prompts, diffs, the four kinds of answers, a second step, cancel, modes and an earlier session', async () => {
  const connection = connect();
  const { agent } = connection;
  const { agentCapabilities } = await agent.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: {},
  });
  expect(agentCapabilities).toMatchObject({ loadSession: true });
  const { sessionId, modes } = await agent.request(methods.agent.session.new, {
    cwd: workspace,
    mcpServers: [],
  });
  expect(modes?.currentModeId).toBe('ask');
  const say = (text: string) =>
    agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
  const press = (option: string | undefined, text: string) => {
    presses = option;
    return say(text);
  };
  const done = { stopReason: 'end_turn' };

  expect(await say('/read_file path=price.ts')).toEqual(done);
  expect([asked.length, JSON.stringify(updates)]).toEqual([0, expect.stringContaining('price = 1')]);

  // allow_once: with the change as a diff
  expect(await press('once', '/edit_file path=price.ts old="price = 1" new="price = 2"')).toEqual(done);
  expect(readFileSync(at('price.ts'), 'utf8')).toContain('price = 2');
  expect(new Set(asked[0]?.options.map(({ kind }) => kind))).toEqual(
    new Set(['allow_once', 'allow_always', 'reject_once', 'reject_always']),
  );
  const diff = { type: 'diff', path: at('price.ts') };
  expect(updates).toContainEqual(
    expect.objectContaining({ content: expect.arrayContaining([expect.objectContaining(diff)]) }),
  );

  // allow_always: the class that the option names; later calls of it are not asked about
  expect(await press('scope-0', '/write_file path=a.ts content=1')).toEqual(done);
  presses = undefined;
  const questions = asked.length;
  expect(await say('/write_file path=a.ts content=2')).toEqual(done);
  expect([asked.length, readFileSync(at('a.ts'), 'utf8')]).toEqual([questions, '2']);

  // reject_once, reject_always
  expect(await press('reject', '/write_file path=no.ts content=1')).toEqual(done);
  const { stopReason } = await press('stop', '/write_file path=stop.ts content=1');
  expect(['cancelled', 'end_turn']).toContain(stopReason);
  expect([existsSync(at('no.ts')), existsSync(at('stop.ts'))]).toEqual([false, false]);

  // HIGH: a second question
  const before = asked.length;
  expect(await press('once', '/delete_file path=old.txt')).toEqual(done);
  expect([asked.length - before, existsSync(at('old.txt'))]).toEqual([2, false]);

  // cancel, while it waits
  const waiting = press(undefined, '/write_file path=late.ts content=1');
  const more = asked.length;
  await until(() => asked.length > more, { otherwise: () => 'It does not ask' });
  await agent.notify(methods.agent.session.cancel, { sessionId });
  expect(await waiting).toEqual({ stopReason: 'cancelled' });
  expect(existsSync(at('late.ts'))).toBe(false);

  // cancel, while it runs
  writeFileSync(at('slow.js'), 'setInterval(() => console.log("still there"), 200);\n');
  const running = press('once', '/run node slow.js');
  await until(() => JSON.stringify(updates).includes('still there'), {
    otherwise: () => `It does not run: ${JSON.stringify(updates.slice(-5))}`,
  });
  await agent.notify(methods.agent.session.cancel, { sessionId });
  expect(await running).toEqual({ stopReason: 'cancelled' });

  // a mode in which nothing is asked and nothing changes
  await agent.request(methods.agent.session.setMode, { sessionId, modeId: 'read_only' });
  const quiet = asked.length;
  expect(await press('once', '/write_file path=a.ts content=3')).toEqual(done);
  expect([asked.length, readFileSync(at('a.ts'), 'utf8')]).toEqual([quiet, '2']);

  // load the session again
  const { sessions } = await agent.request(methods.agent.session.list, { cwd: workspace });
  expect(sessions.map((one) => one.sessionId)).toContain(sessionId);
  updates.length = 0;
  await agent.request(methods.agent.session.load, { sessionId, cwd: workspace, mcpServers: [] });
  expect(JSON.stringify(updates)).toContain('/read_file path=price.ts');
  connection.close();
  started.stdin.end();
  expect(await started.ended).toBe('0');
});
