import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { namesIn } from '../isolation/disk-names.ts';
import { isInside } from '../isolation/fixed-path.ts';
import { tryOr } from '../try-or.ts';
import {
  bashLine,
  findLayerTools,
  type LayerFolders,
  type LayerTools,
  lookLine,
  type MountWay,
  mountLine,
} from './layer-mount.ts';
import { Turns } from './turns.ts';

/** A folder beside the workspace that takes what one command writes (RN-11). */
export interface Layer extends LayerFolders {
  readonly id: string;
  readonly folder: string;
  readonly way: MountWay;
  /** When the layer was opened, by the kernel's clock: what has a later ctime was changed since. */
  readonly openedNs: bigint;
  /** The modes of folders that the command had closed to us, by path: reading the layer opens them. */
  readonly closedFolders: Map<string, number>;
  /** The command line that mounts the layer, without the program to start. */
  readonly enter: readonly string[];
}

interface Mounting {
  readonly tools: LayerTools;
  readonly way: MountWay;
}

/** A layer with fewer entries is removed in this process. */
const FEW_ENTRIES = 200;

/** The layers of one workspace. */
export class Layers {
  readonly #root: string;
  readonly #folder: string;
  readonly #find: ((name: string) => string | undefined) | undefined;
  #probed: Mounting | { readonly problem: string } | undefined;
  readonly #removals = new Set<Promise<void>>();

  constructor(
    { root, stateFolder }: { readonly root: string; readonly stateFolder: string },
    find?: (name: string) => string | undefined,
  ) {
    this.#root = root;
    this.#folder = join(stateFolder, 'layers');
    this.#find = find;
  }

  /** Why commands cannot run in layers here now; undefined if they can. The first call takes about 50 ms. */
  get problem(): string | undefined {
    this.#probed ??= this.#probe();
    if ('problem' in this.#probed) return this.#probed.problem;
    const mounted = mountedBelow(this.#root);
    return mounted && `another file system is mounted in the workspace, at "${mounted}"`;
  }

  /** Makes the next call probe again, after a layer could not be mounted. */
  forgetProbe(): void {
    this.#probed = undefined;
  }

  /** Makes an empty layer; undefined where layers do not work. */
  open(): Layer | undefined {
    return this.problem === undefined ? this.#make(this.#mounting, this.#root) : undefined;
  }

  /**
   * Returns those of the layer's folders that the command has replaced: nothing of the workspace is visible below them. An
   * extended attribute says so, which Node cannot read. So the layer is mounted over folders of the same names that hold
   * nothing but a mark, and replaced is where the mark is hidden.
   */
  async findReplaced(layer: Layer, folders: readonly Buffer[]): Promise<readonly Buffer[]> {
    if (folders.length === 0) return [];
    const { tools, way } = this.#mounting;
    const marks = join(layer.folder, 'marks');
    const name = Buffer.from(`/countersign-${layer.id}`);
    const turns = new Turns();
    for (const folder of folders) {
      const path = Buffer.concat([Buffer.from(`${marks}/`), folder]);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      writeFileSync(Buffer.concat([path, name]), '');
      await turns.next();
    }
    const line = bashLine(tools.bash, lookScript, [layer.merged]);
    const [program = '', ...args] = [...lookLine(tools, way, marks, layer), ...line];
    const child = spawn(program, args, { cwd: '/', env: { LC_ALL: 'C' } });
    const input = folders.flatMap((folder) => [folder, name, Buffer.of(0)]);
    child.stdin.on('error', () => {}); // it ended; 'close' follows
    child.stdin.end(Buffer.concat(input));
    const closed = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    child.stdout.setEncoding('latin1');
    const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    if (status !== 0) throw new Error(`a layer cannot be looked at: ${stderr.trim()}`);
    const shown = new Set(stdout.split('\0'));
    return folders.filter((folder) => !shown.has(Buffer.concat([folder, name]).toString('latin1')));
  }

  /** Removes a layer and what it still holds, without blocking the event loop. `entries`: how many it holds, if known. */
  drop({ id }: Pick<Layer, 'id'>, entries = Number.POSITIVE_INFINITY): void {
    const folder = join(this.#folder, id);
    if (entries < FEW_ENTRIES && tryOr(() => removeNow(folder), false)) return;
    const removal = removeFolder(folder).finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  /** Removes what a killed runner left. `isNeeded` says which layers a landing still reads. */
  dropAbandoned(isNeeded: (id: string) => boolean): void {
    for (const id of namesIn(this.#folder)) if (!isNeeded(id)) this.drop({ id });
  }

  /** Resolves when everything that was dropped is gone. */
  async idle(): Promise<void> {
    await Promise.all(this.#removals);
  }

  get #mounting(): Mounting {
    const { problem } = this;
    if (problem !== undefined) throw new Error(`there are no layers here: ${problem}`);
    return this.#probed as Mounting;
  }

  #make({ tools, way }: Mounting, root: string): Layer {
    const id = randomUUID();
    const folder = join(this.#folder, id);
    const [upper, work, merged] = ['upper', 'work', 'merged'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    for (const path of [upper, work, merged]) mkdirSync(path, { recursive: true, mode: 0o700 });
    // The command sees `upper` as the root of the workspace.
    const { uid, gid, mode }: Stats = statSync(root);
    if (way === 'root') chownSync(upper, uid, gid);
    chmodSync(upper, mode & 0o7777);
    const opened = join(folder, 'opened');
    writeFileSync(opened, '');
    const { ctimeNs: openedNs } = lstatSync(opened, { bigint: true });
    const folders = { upper, work, merged };
    const closedFolders = new Map<string, number>();
    return {
      id,
      folder,
      ...folders,
      way,
      openedNs,
      closedFolders,
      enter: mountLine(tools, way, root, folders),
    };
  }

  #probe(): Mounting | { readonly problem: string } {
    const tools = findLayerTools(this.#find);
    if ('missing' in tools) return { problem: `layers need ${tools.missing}, which is not installed` };
    const unusual = [this.#root, this.#folder].find((path) => /[:,\\]/.test(path));
    if (unusual !== undefined)
      return { problem: `the path "${unusual}" has a colon, a comma or a backslash in it` };
    let problem = '';
    for (const way of process.getuid?.() === 0 ? (['root', 'user'] as const) : (['user'] as const)) {
      try {
        this.#try({ tools, way });
        return { tools, way };
      } catch (error) {
        problem ||= (error as Error).message;
      }
    }
    return { problem };
  }

  /**
   * Mounts a layer over the workspace, and one over a folder of ours in which it deletes: some file systems mount, but
   * cannot hold what an overlay writes. Throws an Error that says what is wrong.
   */
  #try(mounting: Mounting): void {
    const sample = join(this.#folder, `sample-${randomUUID()}`);
    const layers: Layer[] = [];
    const make = (root: string): Layer => {
      const layer = this.#make(mounting, root);
      layers.push(layer);
      return layer;
    };
    const { tools, way } = mounting;
    const run = (enter: readonly string[], script: string, folder: string): boolean => {
      const [program = '', ...args] = [
        ...enter,
        ...bashLine(tools.bash, `cd -- "$1" && ${script}`, [folder]),
      ];
      const options = { cwd: '/', env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8', timeout: 5_000 } as const;
      const { status, stderr, error } = spawnSync(program, args, options);
      const why = error?.message ?? stderr.trim().split('\n')[0];
      if (why) throw new Error(`an overlay cannot be mounted (${why})`);
      return status === 0;
    };
    try {
      mkdirSync(join(sample, 'replaced'), { recursive: true, mode: 0o700 });
      for (const name of ['deleted', 'replaced/inner']) writeFileSync(join(sample, name), '');
      run(make(this.#root).enter, 'true', '/');
      const layer = make(sample);
      const holds =
        run(layer.enter, 'rm deleted && rm -r replaced && mkdir replaced && :>made', layer.merged) &&
        lstatSync(join(layer.upper, 'deleted')).isCharacterDevice() &&
        existsSync(join(layer.upper, 'made')) &&
        run(lookLine(tools, way, sample, layer), '[ -d replaced ] && [ ! -e replaced/inner ]', layer.merged);
      if (!holds) throw new Error(`the file system of "${this.#folder}" cannot hold a layer`);
    } finally {
      for (const layer of layers) this.drop(layer, 0);
      rmSync(sample, { recursive: true, force: true });
    }
  }
}

/** Prints those of the paths on standard input that exist below a folder. */
const lookScript =
  'cd -- "$1" || exit; while IFS= read -r -d "" path; do if [ -e "$path" ]; then printf "%s\\0" "$path"; fi; done; exit 0';

const mountTable = (): string => tryOr(() => readFileSync('/proc/self/mountinfo', 'utf8'), '');

/** The first mount below a folder. A layer would not show it: the command would see another workspace. */
export function mountedBelow(root: string, table = mountTable()): string | undefined {
  // The kernel writes blanks in octal.
  const escaped = root.replace(/[ \t\n]/g, (one) => `\\0${one.charCodeAt(0).toString(8)}`);
  if (!table.includes(` ${escaped}/`)) return undefined;
  const points = table.split('\n').map((line) => line.split(' ')[4] ?? '');
  return points.find((point) => point !== escaped && isInside(escaped, point));
}

function removeNow(folder: string): true {
  // The kernel makes these without any permission.
  for (const name of ['work/work', 'work/work/incompat'])
    if (existsSync(join(folder, name))) chmodSync(join(folder, name), 0o700);
  rmSync(folder, { recursive: true, force: true });
  return true;
}

/**
 * Removes a folder in a process of its own, also where the command or the kernel took our permissions. `signal`: from then on
 * this process may end before that one.
 */
export async function removeFolder(folder: string, signal?: AbortSignal): Promise<void> {
  const script = 'rm -rf -- "$1" || { chmod -R u+rwx -- "$1"; rm -rf -- "$1"; }';
  const child = spawn('/bin/sh', ['-c', script, 'sh', folder], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin:/run/current-system/sw/bin' },
    stdio: 'ignore',
    detached: true,
  });
  signal?.addEventListener('abort', () => child.unref());
  await new Promise((resolve) => {
    child.once('error', resolve);
    child.once('close', resolve);
  });
}
