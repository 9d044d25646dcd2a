import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

/** What a running `countersign up` replies to a second one for the same workspace. */
export interface RunningUp {
  readonly pid: number;
  readonly address: string;
  /** A fresh link that works once, within 60 s. */
  readonly sign_in_link: string;
}

/** Stored in the workspace's state folder. The next start tries the same port. */
interface UpRecord {
  readonly port?: number;
  /** The socket of the running `up`, if one is running. */
  readonly socket?: string;
}

const recordPath = (stateFolder: string): string => join(stateFolder, 'up.json');

export function readUpRecord(stateFolder: string): UpRecord {
  try {
    return JSON.parse(readFileSync(recordPath(stateFolder), 'utf8')) as UpRecord;
  } catch {
    return {}; // no record yet, or an unusable one
  }
}

/** Asks the `up` that runs for this workspace; undefined if none answers in time. */
export async function findRunningUp(
  stateFolder: string,
  { withinMs = 0 } = {},
): Promise<RunningUp | undefined> {
  const end = performance.now() + withinMs;
  for (;;) {
    const running = await askRunningUp(stateFolder);
    if (running !== undefined || performance.now() >= end) return running;
    await setTimeout(100);
  }
}

function askRunningUp(stateFolder: string): Promise<RunningUp | undefined> {
  const { socket: path } = readUpRecord(stateFolder);
  if (path === undefined) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(path)
      .setEncoding('utf8')
      .setTimeout(5_000, () => socket.destroy());
    socket.on('data', (part: string) => {
      text += part;
    });
    socket.on('error', () => {}); // not running: the response stays empty
    socket.on('close', () => resolve(parse(text)));
  });
}

function parse(text: string): RunningUp | undefined {
  try {
    return JSON.parse(text) as RunningUp;
  } catch {
    return undefined;
  }
}

/**
 * Lets a second `up` find this one, through a socket that only this person can open, because it hands out sign-in
 * links. Returns a function that closes the socket at once.
 */
export async function announceUp(
  stateFolder: string,
  { address, signInLink }: { readonly address: string; readonly signInLink: () => Promise<string> },
): Promise<() => void> {
  const path = socketPath(stateFolder);
  const server = createServer((socket) => {
    socket.on('error', () => {}); // the client has gone
    signInLink().then(
      (sign_in_link) => socket.end(JSON.stringify({ pid: process.pid, address, sign_in_link })),
      () => socket.destroy(),
    );
  });
  rmSync(path, { force: true }); // left by a killed `up`; nobody answered there
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(path, resolve);
  });
  server.unref();
  const port = Number(new URL(address).port);
  const write = (record: UpRecord) =>
    writeFileSync(recordPath(stateFolder), `${JSON.stringify(record)}\n`, { mode: 0o600 });
  write({ port, socket: path });
  return () => {
    server.close();
    rmSync(path, { force: true });
    if (dirname(path) !== stateFolder) rmSync(dirname(path), { recursive: true, force: true });
    write({ port });
  };
}

/** In the state folder, or in a temporary one if that path is too long: systems allow about 100 bytes for a socket. */
function socketPath(stateFolder: string): string {
  if (process.platform === 'win32') return `\\\\.\\pipe\\countersign-up-${process.pid}`;
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  const path = join(stateFolder, 'up.sock');
  if (Buffer.byteLength(path) < 100) return path;
  return join(mkdtempSync(join(tmpdir(), 'countersign-up-')), 'up.sock'); // 0700
}
