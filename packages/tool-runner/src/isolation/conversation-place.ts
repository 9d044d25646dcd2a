import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { privateTemporary } from './system-view.ts';

/** The programs that make and enter a place. */
export interface PlaceTools {
  readonly bubblewrap: string;
  readonly nsenter: string;
}

export interface PlaceOptions {
  /** An empty folder of ours. In the place it holds the conversation's `/tmp`. */
  readonly folder: string;
  /** Size limit of `/tmp`, which is kept in memory. */
  readonly temporaryBytes: number;
  /** Names in `/tmp` that are mount points in every command: see `guardedNames`. */
  readonly guarded: readonly string[];
}

/** The namespaces that make up a place: rights, network and mounts. */
const namespaces = ['user', 'net', 'mnt'] as const;
type Namespace = (typeof namespaces)[number];
const nsenterOption = { user: '--user', net: '--net', mnt: '--mount' } as const;

/** Making a place takes about 20 ms; the limit is for a machine that is stuck. */
const LONGEST_START_MS = 10_000;

/**
 * A `/tmp` and a loopback that the commands and background jobs of one conversation share (RN-5). It consists of
 * namespaces that only our descriptors hold: when this process ends, however it ends, the kernel removes it.
 */
export class ConversationPlace {
  readonly folder: string;
  readonly guarded: readonly string[];
  readonly #nsenter: string;
  readonly #descriptors: Readonly<Record<Namespace, number>>;
  readonly #closing = new AbortController();
  #users = 0;
  #isGone = false;

  private constructor(
    nsenter: string,
    { folder, guarded }: PlaceOptions,
    descriptors: Readonly<Record<Namespace, number>>,
  ) {
    this.folder = folder;
    this.guarded = guarded;
    this.#nsenter = nsenter;
    this.#descriptors = descriptors;
  }

  /** Throws an Error that says why this machine cannot make a place. */
  static async make(tools: PlaceTools, options: PlaceOptions): Promise<ConversationPlace> {
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    const descriptors = await openNamespaces(tools.bubblewrap, options);
    const place = new ConversationPlace(tools.nsenter, options, descriptors);
    const [program = '', ...args] = [...place.enter, '/bin/true'];
    const { status, stderr, error } = spawnSync(program, args, {
      cwd: '/',
      env: {},
      encoding: 'utf8',
      timeout: 5_000,
    });
    if (status === 0) return place;
    place.close();
    throw new Error(`nsenter does not work here (${error?.message ?? stderr.trim()})`);
  }

  /** Returns the command line that enters the place, without the program to start there. */
  get enter(): readonly string[] {
    return this.#entering(namespaces);
  }

  /** The same for root, which keeps its rights over files of other users. */
  get enterAsRoot(): readonly string[] {
    return this.#entering(['net', 'mnt']);
  }

  /** Enters its network alone, with the files of the machine: for our own programs only. */
  get enterNetwork(): readonly string[] {
    return this.#entering(['user', 'net']);
  }

  /** Whether a program that we started in it has not ended. */
  get isUsed(): boolean {
    return this.#users > 0;
  }

  /**
   * Call this before a program is started that enters, and what it returns when the program has ended. Until then the
   * descriptors stay open: nsenter opens them by their numbers, which could be those of another conversation's place by then.
   */
  hold(): () => void {
    this.#users += 1;
    let isHeld = true;
    return () => {
      if (isHeld) this.#users -= 1;
      isHeld = false;
      this.#forgetUnused();
    };
  }

  #entering(wanted: readonly Namespace[]): readonly string[] {
    if (this.#isGone) throw new Error('the conversation has ended');
    // nsenter opens these itself. Inherited descriptors would stay open in the command.
    const opened = wanted.map(
      (name) => `${nsenterOption[name]}=/proc/${process.pid}/fd/${this.#descriptors[name]}`,
    );
    return [this.#nsenter, '--preserve-credentials', ...opened, '--'];
  }

  /** Aborted when the place is closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Whether a command with these mounts can use the place: every mounted folder in `/tmp` must be guarded. */
  holds(mounted: readonly string[]): boolean {
    return !this.closed.aborted && guardedNames(mounted).every((name) => this.guarded.includes(name));
  }

  /** Programs in it keep it until they end. */
  close(): void {
    if (this.closed.aborted) return;
    this.#closing.abort();
    this.#forgetUnused();
  }

  #forgetUnused(): void {
    if (this.isUsed || !this.closed.aborted || this.#isGone) return;
    this.#isGone = true;
    for (const name of namespaces) closeSync(this.#descriptors[name]);
  }
}

/** Starts a process in new namespaces, opens them, and ends it. bubblewrap brings the loopback up. */
async function openNamespaces(
  bubblewrap: string,
  { folder, temporaryBytes, guarded }: PlaceOptions,
): Promise<Record<Namespace, number>> {
  const args = [
    ...['--unshare-user', '--unshare-net', '--die-with-parent', '--cap-drop', 'ALL', '--json-status-fd', '3'],
    // The machine's files as they are: each command's own bubblewrap chooses what it shows of them.
    ...['--dev-bind', '/', '/'],
    ...['--perms', '1777', '--size', String(temporaryBytes), '--tmpfs', folder],
    ...guarded.flatMap((name) => ['--perms', '0755', '--dir', join(folder, name)]),
    ...['--', '/bin/cat'],
  ];
  const child = spawn(bubblewrap, args, {
    cwd: '/',
    env: {},
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    timeout: LONGEST_START_MS,
    killSignal: 'SIGKILL',
  });
  const [stdin, stdout, stderr, status] = child.stdio as unknown as readonly [
    Writable,
    Readable,
    Readable,
    Readable,
  ];
  let problem = '';
  const pid = new Promise<string>((resolve) => {
    let told = '';
    status.on('data', (chunk: Buffer) => {
      told += chunk.toString();
      const found = /"child-pid": *(\d+)/.exec(told)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  stderr.on('data', (chunk: Buffer) => {
    problem += chunk.toString();
  });
  stdin.on('error', () => {}); // it ended; 'close' follows
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', (error) => {
      problem ||= error.message;
      resolve();
    });
  });
  stdin.write('.');
  // cat answers when everything is set up. The two pipes are read in any order.
  const answered = new Promise((resolve) => stdout.once('data', resolve));
  const ready = await Promise.race([Promise.all([pid, answered]), closed]);
  const opened: Partial<Record<Namespace, number>> = {};
  try {
    if (!ready) throw new Error(problem.trim() || 'bubblewrap ended at once');
    for (const name of namespaces) opened[name] = openSync(`/proc/${ready[0]}/ns/${name}`, 'r');
    return opened as Record<Namespace, number>;
  } catch (cause) {
    for (const descriptor of Object.values(opened)) closeSync(descriptor);
    throw new Error(`a place of its own cannot be made (${(cause as Error).message})`, { cause });
  } finally {
    stdin.end();
    await closed;
  }
}

/**
 * Returns the names in `/tmp` below which isolation mounts something: the private home, and what lies in `/tmp` itself, such as
 * a workspace. In a shared `/tmp`, a command could replace such a folder by a link, and the next mount would follow it. So
 * these are folders from the start and mount points in every command: the kernel lets nobody move or remove them.
 */
export function guardedNames(mounted: readonly string[]): readonly string[] {
  const below = mounted.filter((path) => path.startsWith(`${privateTemporary}/`));
  return [...new Set(['home', ...below.map((path) => path.split('/')[2] ?? '')])];
}
