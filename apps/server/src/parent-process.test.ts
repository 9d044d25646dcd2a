import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { type ParentChannel, ParentProcess, type ServerMessage } from './parent-process.ts';
import { serveProgram } from './serve-program.ts';

/** The channel between two processes, with both ends in this one. */
class Channel extends EventEmitter {
  connected = true;
  readonly told: ServerMessage[] = [];
  send(news: ServerMessage): void {
    this.told.push(news);
    this.emit('told');
  }
}

/** The server's main program, started by another one. */
async function serveFor(channel: Channel): Promise<string> {
  const parent = new ParentProcess(channel as ParentChannel);
  let printed = '';
  const options = await parent.options;
  if (!options) return 'nothing was to be served';
  const io = {
    env: {},
    write: (text: string) => {
      printed += text;
    },
    writeError: () => {},
    stopped: () => parent.stopped,
    started: (server: Parameters<ParentProcess['started']>[0]) => parent.started(server),
  };
  await serveProgram(options, io, { logger: pino({ level: 'silent' }) }).catch((error) =>
    parent.failed(error),
  );
  return printed;
}

const told = (channel: Channel): Promise<ServerMessage> =>
  new Promise((resolve) => {
    channel.once('told', () => resolve(channel.told.at(-1) as ServerMessage));
  });
const order = { ask: 'serve', options: ['--port', '0', '--database', ':memory:'] };

it('[UI-4] a server that another program started tells it where it listens, makes links, and stops when asked', async () => {
  const channel = new Channel();
  const served = serveFor(channel);
  let news = told(channel);
  channel.emit('message', order);
  const { listens } = (await news) as { listens: string };
  expect((await fetch(`${listens}/healthz`)).status).toBe(200);
  news = told(channel);
  channel.emit('message', { ask: 'sign-in-link' });
  expect(await news).toEqual({ link: expect.stringMatching(`^${listens}/#sign-in=[A-Za-z0-9_-]{75}$`) });
  channel.emit('message', { ask: 'stop' });
  expect(await served).toBe(''); // links must not appear in the log
  await expect(fetch(listens)).rejects.toThrow();
});

it('[UI-4] it ends with the program that started it, also when that one is gone before it began', async () => {
  const channel = new Channel();
  const served = serveFor(channel);
  const news = told(channel);
  channel.emit('message', order);
  const { listens } = (await news) as { listens: string };
  channel.emit('disconnect');
  await served;
  await expect(fetch(listens)).rejects.toThrow();
  expect(await serveFor(Object.assign(new Channel(), { connected: false }))).toBe('nothing was to be served');
});

it('[UI-4] it tells why it could not start', async () => {
  const first = new Channel();
  const served = serveFor(first);
  const news = told(first);
  first.emit('message', order);
  const { port } = new URL(((await news) as { listens: string }).listens);
  const second = new Channel();
  const refused = serveFor(second);
  second.emit('message', { ask: 'serve', options: ['--port', port, '--database', ':memory:'] });
  await refused;
  expect(second.told).toEqual([{ failed: expect.stringContaining('EADDRINUSE'), code: 'EADDRINUSE' }]);
  first.emit('message', { ask: 'stop' });
  await served;
});
