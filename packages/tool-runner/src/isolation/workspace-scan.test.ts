import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WorkspaceScan } from './workspace-scan.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function workspace(paths: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), 'countersign-scan-'));
  folders.push(root);
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), '');
  }
  return root;
}

/** The options of a scan for a person without a home folder. */
const at = (root: string) => ({ root, home: join(root, '../no-home') });
const paths = (places: readonly { path: string }[]): string[] => places.map(({ path }) => path).sort();

describe('WorkspaceScan', () => {
  it('[VA-2] finds sensitive places anywhere but in installed packages', () => {
    const root = workspace([
      'a/.env',
      '.ssh/id_rsa',
      '.github/x/.env',
      '.git/credentials',
      '.git/objects/aa/.env',
      '.config/gcloud/token',
      'node_modules/p/.env',
      'venv/lib/site-packages/p/key.pem',
      'b/.ENV.Local',
      'src/env.ts',
      '.countersign/tokens.json',
    ]);
    const found = new WorkspaceScan(at(root)).findPlaces();
    expect(paths(found.sensitive)).toEqual([
      '.config/gcloud',
      '.countersign/tokens.json',
      '.git/credentials',
      '.github/x/.env',
      '.ssh',
      'a/.env',
      'b/.ENV.Local',
    ]);
  });

  it('[VA-3] finds places that execute later, the outermost of each', () => {
    const root = workspace([
      '.git/hooks/x',
      '.github/workflows/ci.yml',
      '.github/README.md',
      'sub/.vscode/.idea/x',
      'sub/.envrc',
      '.npmrc',
      'x/workflows/a.yml',
      'package.json',
    ]);
    symlinkSync('x', join(root, '.husky'));
    const { executing } = new WorkspaceScan(at(root)).findPlaces();
    expect(paths(executing)).toEqual([
      '.git',
      '.github/workflows',
      '.husky',
      '.npmrc',
      'sub/.envrc',
      'sub/.vscode',
    ]);
    expect(executing.find(({ path }) => path === '.husky')?.type).toBe('link');
  });

  it('[VA-3] also if the place is recognised by names without a dot', () => {
    const root = workspace([
      '.mvn/extensions.xml',
      '.hg/hgrc',
      'app/gradle/wrapper/gradle-wrapper.properties',
      'gradle/libs.versions.toml',
      'mise/config.toml',
      'real/wrapper/gradle-wrapper.properties',
      'autostart/x.desktop',
    ]);
    symlinkSync('real', join(root, 'gradle2'));
    symlinkSync('../real', join(root, 'app2'));
    symlinkSync('../real', join(root, 'autostart/y'));
    mkdirSync(join(root, 'sub'));
    symlinkSync('../real', join(root, 'sub/gradle'));
    const { executing } = new WorkspaceScan(at(root)).findPlaces();
    expect(paths(executing)).toEqual([
      '.hg',
      '.mvn',
      'app/gradle/wrapper',
      'autostart',
      'autostart/y',
      'mise/config.toml',
      'sub/gradle',
    ]);
  });

  it('sees what changed since, also within the grain of the clock', () => {
    const root = workspace(['a/b/x', 'c/y']);
    const scan = new WorkspaceScan(at(root));
    expect(scan.findPlaces().sensitive).toEqual([]);
    writeFileSync(join(root, 'a/b/.env'), '');
    expect(paths(scan.findPlaces().sensitive)).toEqual(['a/b/.env']);
    rmSync(join(root, 'a/b/.env'));
    expect(scan.findPlaces().sensitive).toEqual([]);
  });

  it('does not read a folder again that has not changed for long', () => {
    const root = workspace(['a/x', 'a/.env']);
    // ctime cannot be set, so the test moves the clock to make files look old.
    const now = Date.now;
    const scan = new WorkspaceScan(at(root));
    try {
      Date.now = () => now() + 60_000;
      const first = scan.findPlaces().sensitive[0];
      expect(scan.findPlaces().sensitive[0]).toBe(first);
      utimesSync(join(root, 'a'), new Date(0), new Date(0));
      expect(scan.findPlaces().sensitive[0]).not.toBe(first);
    } finally {
      Date.now = now;
    }
  });

  it('says when it could not look everywhere, and gets further the next time', () => {
    const root = workspace(Array.from({ length: 300 }, (_, i) => `d${i}/x`));
    expect(new WorkspaceScan(at(root), { directories: 100 }).findPlaces().missed).toBe(
      'there are more folders than can be searched',
    );
    const hurried = new WorkspaceScan(at(root), { milliseconds: 0 });
    expect(hurried.findPlaces().missed).toBe('there are more folders than can be searched');
    expect(new WorkspaceScan(at(join(root, 'gone'))).findPlaces()).toEqual({
      sensitive: [],
      executing: [],
      aliases: [],
      specialFiles: [],
      linkedOutside: [],
    });
  });

  it('[VA-1] finds files that have a further name outside, and takes no notice of those whose names are all inside', () => {
    const [root, outside] = [workspace(['src/a.txt', 'src/b.txt']), workspace(['secret.txt', 'late.txt'])];
    const scan = new WorkspaceScan(at(root));
    linkSync(join(root, 'src/a.txt'), join(root, 'copy.txt'));
    linkSync(join(outside, 'secret.txt'), join(root, 'src/notes.txt'));
    expect(scan.findPlaces().linkedOutside).toEqual([{ path: 'src/notes.txt', type: 'file' }]);
    linkSync(join(outside, 'late.txt'), join(root, 'late.txt'));
    expect(paths(scan.findPlaces().linkedOutside)).toEqual(['late.txt', 'src/notes.txt']);
  });

  it('[VA-1] counts the names again when another folder gained or lost one', () => {
    const [root, outside] = [workspace(['src/own.txt', 'other/x']), workspace(['secret.txt'])];
    linkSync(join(outside, 'secret.txt'), join(root, 'src/notes.txt'));
    linkSync(join(root, 'src/own.txt'), join(root, 'other/own.txt'));
    const scan = new WorkspaceScan(at(root));
    const settled = new Date(Date.now() + 10_000);
    vi.useFakeTimers({ now: settled, toFake: ['Date'] });
    try {
      expect(paths(scan.findPlaces().linkedOutside)).toEqual(['src/notes.txt']);
      linkSync(join(root, 'src/notes.txt'), join(root, 'other/notes.txt'));
      expect(paths(scan.findPlaces().linkedOutside)).toEqual(['other/notes.txt', 'src/notes.txt']);
      rmSync(join(root, 'other/own.txt'));
      expect(paths(scan.findPlaces().linkedOutside)).toEqual(['other/notes.txt', 'src/notes.txt']);
    } finally {
      vi.useRealTimers();
    }
  });
});
