import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { toDiskPath } from '../isolation/disk-names.ts';
import type { Effect } from './effect.ts';
import { countChanges, type LayerEffects, readEffects } from './layer-effects.ts';
import { type Layer, Layers } from './layers.ts';

/** A workspace and a state folder, and layers of it in which bash lines run without isolation. */
export class LayerFixture {
  readonly #folders: readonly string[];
  readonly root: string;
  readonly stateFolder: string;
  readonly layers: Layers;

  /** `state`: where the state folder is, if it is on another disk. */
  constructor(base: string, state = base) {
    const [parent, other] = [base, state].map((folder) =>
      realpathSync(mkdtempSync(join(folder, 'countersign-layer-'))),
    ) as [string, string];
    this.#folders = [parent, other];
    this.root = join(parent, 'workspace');
    this.stateFolder = join(other, 'state');
    for (const folder of [this.root, this.stateFolder]) mkdirSync(folder);
    this.layers = new Layers(this);
  }

  write(path: string, content = path): void {
    const target = toDiskPath(join(this.root, path));
    mkdirSync(toDiskPath(join(this.root, dirname(path))), { recursive: true });
    writeFileSync(target, content);
  }

  move(from: string, to: string): void {
    renameSync(join(this.root, from), join(this.root, to));
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  /** Runs a bash line in a layer. `meanwhile` is called when it has printed something, and gets its standard input. */
  async run(line: string, meanwhile?: () => void): Promise<Layer> {
    const layer = this.layers.open();
    if (!layer) throw new Error(this.layers.problem);
    const shell = ['bash', '--norc', '--noprofile', '-ec', `cd "$1"; ${line}`, 'bash', layer.merged];
    const [program = '', ...args] = [...layer.enter, ...shell];
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.stdout.once('data', () => {
      meanwhile?.();
      child.stdin.end('\n');
    });
    const [status] = (await once(child, 'close')) as [number];
    if (status !== 0) throw new Error(stderr);
    return layer;
  }

  /** Runs a bash line, returns its effects and removes the layer. */
  async effectsOf(line: string, meanwhile?: () => void): Promise<LayerEffects> {
    const layer = await this.run(line, meanwhile);
    const found = await readEffects(this.layers, layer, this.root);
    this.layers.drop(layer, found.entries);
    return found;
  }

  async changesOf(line: string): Promise<number> {
    const layer = await this.run(line);
    const count = await countChanges(layer, this.root);
    this.layers.drop(layer);
    return count;
  }

  async remove(): Promise<void> {
    await this.layers.idle();
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }
}

/** `created a/b.txt`; without the path's encoding of bytes that are not UTF-8. */
export const lineOf = ({ change, path }: Effect): string => `${change} ${path}`;
