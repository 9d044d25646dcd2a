import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { cannotIsolate } from '../isolation/isolation-fixture.test-data.ts';
import { countChanges, readEffects } from './layer-effects.ts';
import { LayerFixture, lineOf } from './layer-fixture.test-data.ts';
import { runScenarios } from './layer-scenarios.test-data.ts';
import { Layers, mountedBelow } from './layers.ts';

/** A file system in memory. */
const memory = '/dev/shm';

const expected = {
  'files, links, modes and folders': {
    effects: [
      'created dangling: - > link 777 7 link:nowhere',
      'created deep: - > directory 700 0 directory',
      'created deep/er: - > file 644 2 sha256:3bb2abb6',
      'mode dir/in: file 644 6 sha256:5208ba17 > file 755 6 sha256:5208ba17',
      'modified edited: file 644 6 sha256:1fb9f409 > file 644 4 sha256:7aa7a535',
      'created empty: - > directory 755 0 directory',
      'modified link: link 777 4 link:same > link 777 6 link:edited',
      'created made: - > file 644 2 sha256:73cb3858',
      'mode mode: file 644 4 sha256:e642b129 > file 600 4 sha256:e642b129',
      'deleted removed: file 644 7 sha256:e1f79758 > -',
      'modified tool: file 644 4 sha256:7c9bbe5e > directory 755 0 directory',
      'created tool/inside: - > file 644 2 sha256:c865f6c5',
    ],
    conflicts: [],
    leftOut: [],
    stays: 'edited',
  },
  'folders that are deleted, moved and replaced': [
    'modified flat',
    'deleted flat/f',
    'created fresh',
    'deleted gone',
    'deleted gone/a',
    'deleted gone/deep',
    'deleted gone/deep/b',
    'deleted moved',
    'deleted moved/c',
    'deleted moved/d',
    'deleted moved/d/e',
    'deleted new/deep/older',
    'created new/made',
    'deleted new/old',
    'created there',
    'created there/c',
    'created there/d',
    'created there/d/e',
  ],
  'a folder whose other entries stay is not replaced': [
    'modified src/a',
    'deleted src/sub/c',
    'created src/sub/n',
  ],
  'names: bytes, line feeds, case only, and long ones': [
    'created README',
    'deleted Readme',
    'modified b\udcffd/x\udcfe',
    'created new\udcfd',
    'created long',
    'created two\nlines',
  ],
  // The other name of a file keeps the old content, as after an atomic rename.
  'hard links': [
    'modified one: file 644 6 sha256:a4d26868 > file 644 11 sha256:b25d202f',
    'created three: - > file 644 6 sha256:a4d26868',
    'created x: - > file 644 2 sha256:a4fb6214',
    'created y: - > file 644 2 sha256:a4fb6214',
  ],
  'permissions that a command takes away': [
    'created c: - > directory 0 0 directory',
    'created c/f: - > file 0 2 sha256:73cb3858',
    'mode d: directory 755 0 directory > directory 311 0 directory',
    'created r: - > directory 555 0 directory',
    'created r/f: - > file 644 2 sha256:3bb2abb6',
    'created secret: - > file 0 2 sha256:cbc80bb5',
  ],
  'pipes, sockets and devices are left out, and what holds them stays': {
    effects: ['created s', 'created s/f'],
    leftOut: ['pipe', 's/inner', 'socket'],
    conflicts: [],
  },
  'files with holes, and large ones': [
    ['large', 1_073_741_824],
    ['sparse', 67_108_868],
    ['zeros', 8_388_608],
  ],
  'files that were written again are modified, and those only opened are not': [
    'modified again',
    'mode opened',
  ],
  'what others changed meanwhile is a conflict': {
    effects: [
      'deleted deleted/new/f',
      'deleted dir/other',
      'created fresh',
      'created fresh/f',
      'created later',
      'modified mine',
      'modified quiet/f',
    ],
    conflicts: [
      'modified both',
      'deleted deleted',
      'deleted deleted/new',
      'deleted deleted/new/more',
      'deleted dir',
      'deleted dir/both',
      'created moved',
      'created moved/f',
      'modified new',
      'modified swap',
      'created swap/f',
    ],
  },
  'what is dropped is counted': 5,
};

/** Runs the scenarios as a user without rights; undefined, and why, if that is not possible. */
function runAsOrdinaryUser(...folders: readonly string[]): {
  readonly seen?: unknown;
  readonly problem?: string;
} {
  const script = `
    import { runScenarios } from ${JSON.stringify(import.meta.resolve('./layer-scenarios.test-data.ts'))};
    console.log(JSON.stringify(await runScenarios(...${JSON.stringify(folders)})));`;
  const node = [process.execPath, '--input-type=module', '-e', script];
  const as = ['--reuid=65534', '--regid=65534', '--clear-groups', ...node];
  const { stdout, stderr, error } = spawnSync('/usr/bin/setpriv', as, {
    cwd: import.meta.dirname,
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin', HOME: '/' },
  });
  return stdout === '' ? { problem: error?.message ?? stderr } : { seen: JSON.parse(stdout) };
}

describe.skipIf(cannotIsolate)('[RN-11] the effects of a command', () => {
  it.each([
    ['on a disk', tmpdir(), tmpdir()],
    ['in memory', memory, memory],
    ['with the layers on another disk', memory, tmpdir()],
  ])('are read right: %s', async (_, base, state) => {
    expect(await runScenarios(base, state)).toEqual(expected);
  });

  it.for([
    ['on a disk', tmpdir(), tmpdir()],
    ['in memory', memory, memory],
    ['with the layers on another disk', tmpdir(), memory],
  ] as const)('are read right for an ordinary user: %s', ([, base, state], { skip }) => {
    if (process.getuid?.() !== 0) skip('this already is an ordinary user: the other tests show it');
    const { seen, problem } = runAsOrdinaryUser(base, state);
    if (problem !== undefined) skip(`no program runs as another user here: ${problem}`);
    else expect(seen).toEqual(expected);
  });

  it('are read, counted and dropped without blocking the event loop: 50,000 files', async () => {
    const fixture = new LayerFixture(memory);
    const line = 'for d in a b c d e; do mkdir $d; (cd $d; seq 10000 | xargs touch); done';
    const layer = await fixture.run(line);
    const second = await fixture.run(line);
    let turns = 0;
    const beat = setInterval(() => {
      turns += 1;
    }, 1);
    const { effects } = await readEffects(fixture.layers, layer, fixture.root);
    expect(await countChanges(second, fixture.root)).toBe(50_005);
    fixture.layers.drop(layer);
    fixture.layers.drop(second);
    await fixture.layers.idle();
    clearInterval(beat);
    expect(effects.length).toBe(50_005);
    expect(turns).toBeGreaterThan(50);
    await fixture.remove();
  });
});

describe.skipIf(cannotIsolate)('[RN-11] layers', () => {
  it('say why there are none: a missing program', () => {
    const fixture = new LayerFixture(tmpdir());
    const without = (missing: string) =>
      new Layers(fixture, (name) => (name === missing ? undefined : `/usr/bin/${name}`)).problem;
    expect(without('unshare')).toBe('layers need unshare (of util-linux), which is not installed');
    expect(without('mount')).toBe('layers need mount (of util-linux), which is not installed');
    expect(
      new Layers(fixture, (name) => (name === 'mount' ? '/bin/false' : `/usr/bin/${name}`)).problem,
    ).toBe(`the file system of "${fixture.stateFolder}/layers" cannot hold a layer`);
  });

  it('say why there are none: another file system in the workspace', () => {
    const table = [
      '21 1 254:0 / / rw - ext4 /dev/vda rw',
      '30 21 0:40 / /w/my\\040files/cache rw - tmpfs tmpfs rw',
    ].join('\n');
    expect(mountedBelow('/w/my files', table)).toBe('/w/my\\040files/cache');
    expect(['/w/my', '/w/my files/cache', '/w/other'].map((root) => mountedBelow(root, table))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('say why there are none: a path that an overlay does not take', () => {
    const fixture = new LayerFixture(tmpdir());
    expect(new Layers({ ...fixture, root: '/a,b' }).problem).toBe(
      'the path "/a,b" has a colon, a comma or a backslash in it',
    );
  });

  it('that a killed runner left are removed, except for those of a landing', async () => {
    const fixture = new LayerFixture(tmpdir());
    const [kept, left] = [await fixture.run('mkdir d; chmod 000 d'), await fixture.run('echo x > f')];
    const next = new Layers(fixture);
    next.dropAbandoned((id) => id === kept.id);
    await next.idle();
    expect([kept, left].map(({ folder }) => existsSync(folder))).toEqual([true, false]);
    await fixture.remove();
  });

  it('leave nothing behind, and the workspace as it is', async () => {
    const fixture = new LayerFixture(tmpdir());
    fixture.write('a');
    const { effects } = await fixture.effectsOf('rm a; echo x > b');
    expect(effects.map(lineOf)).toEqual(['deleted a', 'created b']);
    expect([fixture.has('a'), fixture.has('b')]).toEqual([true, false]);
    await fixture.layers.idle();
    expect(readdirSync(`${fixture.stateFolder}/layers`)).toEqual([]);
    await fixture.remove();
  });
});
