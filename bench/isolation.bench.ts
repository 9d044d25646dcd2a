import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultLimits } from '@countersign/protocol';
import { IsolatingStarter } from '../packages/tool-runner/src/isolation/process-starter.ts';
import { readEffects } from '../packages/tool-runner/src/layers/layer-effects.ts';
import { measureSlow } from './measure.ts';
import { paced } from './pace.ts';
import type { Bench, Row } from './results.ts';

/** RN-5: isolation adds less than this to a command. */
const promisedNs = 20e6;
/** A layer adds less than this. */
const promisedLayerNs = 15e6;
/** Reading through a layer takes at most so many times as long. */
const promisedReading = 1.1;
const writes = 'in isolation, writing';
const layered = 'in isolation, writing in a layer';
const manyFiles = paced(100_000, 5_000);
const folders = 400;
const filesInEach = 10;

type Request = Parameters<IsolatingStarter['start']>[0];
type Confinement = Request['confinement'];

/** A command with and without isolation, in a workspace of ordinary size with some secrets. */
const isolationBench: Bench = {
  name: `a command in a workspace of ${folders * filesInEach} files`,
  async run(): Promise<readonly Row[]> {
    const parent = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-bench-')));
    const root = makeWorkspace(parent);
    const workspace = {
      root,
      stateFolder: join(parent, 'state'),
      limits: defaultLimits,
      home: parent,
      addedEnvironment: [],
    };
    const starter = new IsolatingStarter(workspace);
    if (!starter.isIsolated) throw new Error('This machine cannot isolate: countersign doctor says why.');
    const inConversation = await starter.placeOf('a conversation', { withNetwork: true });
    const run = async (request: Partial<Request> & Pick<Request, 'confinement'>) => {
      const child = starter.start({
        program: 'wc',
        args: ['README.md'],
        cwd: '',
        stdin: 'ignore',
        ...request,
      });
      await ended(child);
      await starter.stop(child);
    };
    const inLayer = async (request: Partial<Request>) => {
      const layer = starter.openLayer([]);
      if (!layer) throw new Error(`There are no layers here: ${starter.layers.problem}`);
      await run({ ...request, confinement: writing, layer });
      const { entries } = await readEffects(starter.layers, layer, root);
      starter.layers.drop(layer, entries);
    };
    const isolated = (confinement: Confinement, place?: typeof inConversation) => () =>
      run({ confinement, place });
    const writing: Confinement = { workspace: 'write', network: false, maskSensitive: false };
    const withNetwork: Confinement = { workspace: 'write', network: true, maskSensitive: false };
    try {
      const rows = await measureSlow(
        {
          'without isolation': () =>
            ended(spawn('/usr/bin/wc', ['README.md'], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })),
          'in isolation, looking only, secrets masked': isolated({
            workspace: 'read',
            network: false,
            maskSensitive: true,
          }),
          [writes]: isolated(writing),
          [layered]: () => inLayer({}),
          'in isolation, writing, with network': isolated(withNetwork),
          'in isolation, writing, with network, in a conversation': isolated(withNetwork, inConversation),
        },
        { runs: 40 },
      );
      const alone = rows[0]?.median ?? Number.NaN;
      const unlayered = rows.find(({ name }) => name === writes)?.median ?? Number.NaN;
      const limits: Readonly<Record<string, number | undefined>> = {
        'without isolation': undefined,
        [layered]: unlayered + promisedLayerNs,
        // Outside of a conversation the network bridge is a Node process of its own.
        'in isolation, writing, with network': undefined,
      };
      const commands = rows.map((row): Row => {
        const note =
          row.name === 'without isolation' ? '' : `${((row.median - alone) / 1e6).toFixed(1)} ms more`;
        const limit = row.name in limits ? limits[row.name] : alone + promisedNs;
        return { ...row, note, ...(limit !== undefined && { limit }) };
      });
      makeFiles(join(root, 'many'), manyFiles);
      const readAll = { program: 'bash', args: ['-c', 'find many -type f -print0 | xargs -0 cat'] };
      const [straight, through] = await measureSlow(
        {
          [`reading ${manyFiles} files`]: () => run({ ...readAll, confinement: writing }),
          [`reading ${manyFiles} files through a layer`]: () => inLayer(readAll),
        },
        { runs: 5 },
      );
      if (!straight || !through) return commands;
      const times = `${(through.median / straight.median).toFixed(2)} times as long`;
      return [...commands, straight, { ...through, limit: straight.median * promisedReading, note: times }];
    } finally {
      await starter.dispose();
      rmSync(parent, { recursive: true });
    }
  },
};
export default isolationBench;

function makeWorkspace(parent: string): string {
  const root = join(parent, 'workspace');
  for (let folder = 0; folder < folders; folder += 1) {
    const path = join(root, 'src', `part-${folder % 20}`, `folder-${folder}`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < filesInEach; file += 1)
      writeFileSync(join(path, `file-${file}.ts`), 'export {};\n');
    if (folder % 80 === 0) writeFileSync(join(path, '.env'), 'SECRET=1\n');
  }
  for (const path of ['.vscode', '.git/hooks']) mkdirSync(join(root, path), { recursive: true });
  writeFileSync(join(root, 'README.md'), 'one two three\n');
  return root;
}

function makeFiles(folder: string, count: number): void {
  for (let at = 0; at < count; at += 1) {
    if (at % 500 === 0) mkdirSync(join(folder, String(at)), { recursive: true });
    writeFileSync(join(folder, String(at - (at % 500)), `${at}.ts`), 'export {};\n');
  }
}

async function ended(child: ChildProcess): Promise<void> {
  child.stdout?.resume();
  child.stderr?.resume();
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) throw new Error(`The command ended with ${status}`);
}
