import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bubblewrapArguments } from './bubblewrap.ts';
import { cannotIsolate, lookOnly } from './isolation-fixture.test-data.ts';
import { findTool } from './isolation-probe.ts';
import { prepareFiles, systemArguments } from './system-view.ts';

const shown = { mounts: [], links: [], masked: [] };
const temporaryBytes = 1024 * 1024;

it.skipIf(cannotIsolate)("[RN-5] npm's settings for everybody, with their tokens, are empty inside", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-bubblewrap-')));
  try {
    const installed = join(folder, 'node');
    mkdirSync(join(installed, 'etc'), { recursive: true });
    mkdirSync(join(folder, 'workspace'));
    writeFileSync(join(installed, 'etc/npmrc'), '//registry.example/:_authToken=token-1');
    writeFileSync(join(installed, 'etc/other'), 'other');
    const files = prepareFiles(folder, { name: undefined, email: undefined });
    const line = bubblewrapArguments({
      root: join(folder, 'workspace'),
      confinement: lookOnly,
      files,
      system: systemArguments(files),
      node: { programs: join(installed, 'bin'), shown: installed },
      shown,
      temporaryBytes,
      hasSeccomp: false,
      gate: undefined,
      places: { sensitive: [], executing: [], aliases: [], specialFiles: [], linkedOutside: [] },
      protection: { readOnly: [], pinned: [], standIns: [] },
      cwd: '',
    });
    const { stdout, stderr } = spawnSync(
      findTool('bwrap') as string,
      [...line, '/bin/cat', join(installed, 'etc/npmrc'), join(installed, 'etc/other')],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
    );
    expect([stdout, stderr]).toEqual(['other', '']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('[VA-2] a place to cover whose name is not UTF-8 is not left uncovered', () => {
  const plan = {
    root: '/workspace',
    confinement: lookOnly,
    files: { etc: '', emptyFile: '', emptyFolder: '', npmCache: '', ignoring: '', bridge: '' },
    system: [],
    node: undefined,
    shown,
    temporaryBytes,
    hasSeccomp: false,
    gate: undefined,
    places: {
      sensitive: [{ path: '\udcff/.env', type: 'file' as const }],
      executing: [],
      aliases: [],
      specialFiles: [],
      linkedOutside: [],
    },
    protection: { readOnly: [], pinned: [], standIns: [] },
    cwd: '',
  };
  expect(() => bubblewrapArguments(plan)).toThrow('its name is not UTF-8; rename it');
});
