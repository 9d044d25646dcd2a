/**
 * `npm run release -- minor` (or patch, major, 1.2.3): writes the version everywhere, adds the entry of CHANGELOG.md,
 * and prints the next steps. It neither commits nor publishes.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { repositoryRoot } from '../set-up.mjs';
import { type Commit, changelogEntry, withEntry } from './changelog.ts';
import { filesWithVersion, nextVersion } from './versions.ts';

const inRoot = (path: string): string => join(repositoryRoot, path);
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: repositoryRoot, encoding: 'utf8' }).trim();

const { version: now } = JSON.parse(readFileSync(inRoot('package.json'), 'utf8')) as { version: string };
const next = nextVersion(now, argv[2] ?? '');
if (next === undefined) fail(`Say patch, minor, major or a version after ${now}: npm run release -- minor`);
else if (git('status', '--porcelain') !== '')
  fail('There are changes that are not committed. Commit them first.');
else release(next);

function release(version: string): void {
  for (const [path, text] of filesWithVersion(repositoryRoot, now, version))
    writeFileSync(inRoot(path), text);
  const entry = changelogEntry(version, new Date().toISOString().slice(0, 10), commitsSinceLastTag());
  const changelog = inRoot('CHANGELOG.md');
  writeFileSync(changelog, withEntry(readFileSync(changelog, 'utf8'), entry));
  console.log(`${now} → ${version}. Read CHANGELOG.md, then:
  git commit -am "release: ${version}" && git tag v${version}
  npm run package:cli`);
}

function commitsSinceLastTag(): Commit[] {
  const [last] = git('tag', '--list', 'v*', '--sort=-version:refname').split('\n');
  const range = last ? [`${last}..HEAD`] : ['HEAD'];
  return git('log', '--format=%H %s', ...range)
    .split('\n')
    .map((line) => ({ id: line.slice(0, 40), subject: line.slice(41) }));
}

function fail(problem: string): void {
  console.error(problem);
  process.exitCode = 2;
}
