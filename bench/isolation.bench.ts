import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultLimits } from '@countersign/protocol';
import { IsolatingStarter } from '../packages/tool-runner/src/isolation/process-starter.ts';
import { measureSlow } from './measure.ts';
import type { Bench, Row } from './results.ts';

/** RN-5: isolation adds less than this to a command. */
const promisedNs = 20e6;
const folders = 400;
const filesInEach = 10;

type Confinement = Parameters<IsolatingStarter['start']>[0]['confinement'];

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
    const isolated = (confinement: Confinement, place?: typeof inConversation) => async () => {
      const child = starter.start({
        program: 'wc',
        args: ['README.md'],
        cwd: '',
        confinement,
        place,
        stdin: 'ignore',
      });
      await ended(child);
      await starter.stop(child);
    };
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
          'in isolation, writing': isolated({ workspace: 'write', network: false, maskSensitive: false }),
          'in isolation, writing, with network': isolated(withNetwork),
          'in isolation, writing, with network, in a conversation': isolated(withNetwork, inConversation),
        },
        { runs: 40 },
      );
      const alone = rows[0]?.median ?? Number.NaN;
      return rows.map((row, place): Row => {
        const note = place === 0 ? '' : `${((row.median - alone) / 1e6).toFixed(1)} ms more`;
        // Outside of a conversation the network bridge is a Node process of its own.
        return place !== 0 && place !== 3 ? { ...row, limit: alone + promisedNs, note } : { ...row, note };
      });
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

async function ended(child: ChildProcess): Promise<void> {
  child.stdout?.resume();
  child.stderr?.resume();
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) throw new Error(`The command ended with ${status}`);
}
