import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { repositoryRoot } from '../set-up.mjs';
import { changelogEntry, withEntry } from './changelog.ts';
import { nextVersion } from './versions.ts';

it('accepts the next version, and no other', () => {
  const next = (wanted: string) => nextVersion('1.9.3', wanted);
  expect(['patch', 'minor', 'major', '1.10.0'].map(next)).toEqual(['1.9.4', '1.10.0', '2.0.0', '1.10.0']);
  expect(['', '1.9.3', '1.9.2', '2', 'v2.0.0', '2.0.0-beta'].map(next)).toEqual(Array(6).fill(undefined));
});

it('lists in its entry what users may notice', () => {
  const commit = (subject: string) => ({ id: 'abcdef1234567890', subject });
  const entry = changelogEntry('0.2.0', '2026-11-16', [
    commit('runner: undo says why it refuses'),
    commit('docs: a typo'),
    commit('knip: an export that nobody imports'),
    commit('emacs, web: one word for both'),
    commit('Merge branch x'),
    commit('something without a part'),
  ]);
  expect(entry.split('\n').filter(Boolean)).toEqual([
    '## 0.2.0, 2026-11-16',
    '### emacs',
    '- one word for both (abcdef1)',
    '### other',
    '- something without a part (abcdef1)',
    '### runner',
    '- undo says why it refuses (abcdef1)',
  ]);
  const changelog = withEntry('# Changes\n\nIntroduction.\n\n## 0.1.0, 2026\n\n- first\n', entry);
  expect(changelog.match(/^#+ .*$/gm)).toEqual([
    '# Changes',
    '## 0.2.0, 2026-11-16',
    '### emacs',
    '### other',
    '### runner',
    '## 0.1.0, 2026',
  ]);
});

describe('npm run release', () => {
  let copy: string;
  beforeEach(() => {
    copy = mkdtempSync(join(tmpdir(), 'countersign-release-'));
    const files = execFileSync(
      'git',
      [
        'ls-files',
        '*package.json',
        'package-lock.json',
        'CHANGELOG.md',
        'tooling',
        'apps/emacs/countersign.el',
      ],
      {
        cwd: repositoryRoot,
        encoding: 'utf8',
      },
    );
    for (const file of files.trim().split('\n')) cpSync(join(repositoryRoot, file), join(copy, file));
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd: copy });
    git('init', '-q');
    git('add', '.');
    git('commit', '-q', '-m', 'runner: a first thing');
  });
  afterEach(() => rmSync(copy, { recursive: true, force: true }));

  const release = (...args: string[]) =>
    spawnSync(process.execPath, [join(copy, 'tooling/release/release.ts'), ...args], { encoding: 'utf8' });

  it('writes one version everywhere, and the changelog entry', () => {
    const { status, stdout, stderr } = release('9.8.7');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('→ 9.8.7');
    for (const path of globSync('{,packages/*/,apps/*/,tests/*/,bench/}package.json', { cwd: copy })) {
      const {
        version,
        dependencies = {},
        devDependencies = {},
      } = JSON.parse(readFileSync(join(copy, path), 'utf8'));
      expect([path, version]).toEqual([path, '9.8.7']);
      const own = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) =>
        name.startsWith('@countersign/'),
      );
      expect(
        own.every(([, wanted]) => wanted === '9.8.7'),
        path,
      ).toBe(true);
    }
    const lock = JSON.parse(readFileSync(join(copy, 'package-lock.json'), 'utf8'));
    expect([
      lock.version,
      lock.packages['apps/cli'].version,
      lock.packages['apps/cli'].dependencies['@countersign/client'],
    ]).toEqual(Array(3).fill('9.8.7'));
    expect(readFileSync(join(copy, 'apps/emacs/countersign.el'), 'utf8')).toContain('\n;; Version: 9.8.7\n');
    const changelog = readFileSync(join(copy, 'CHANGELOG.md'), 'utf8');
    expect(changelog).toMatch(/## 9\.8\.7, \d{4}-\d\d-\d\d\n\n### runner\n\n- a first thing/);
    expect(changelog).not.toContain('Nothing has been released');
  });

  it('changes nothing when the version is not valid or there are uncommitted changes', () => {
    expect(release('nonsense')).toMatchObject({ status: 2, stderr: expect.stringContaining('Say patch') });
    expect(release('patch').status).toBe(0);
    expect(release('patch')).toMatchObject({ status: 2, stderr: expect.stringContaining('not committed') });
  });
});
