import { dirname } from 'node:path';
import { PathValidator } from '@countersign/policy';
import { realDisk } from '../real-disk.ts';
import { type ConfigEntry, setting, utf8 } from './config-text.ts';
import { leadsOutside, unsafe } from './repository-layout.ts';

/**
 * The only settings of the repository's own configuration that git sees. They describe the files (format, line endings,
 * who commits) and name branches and remotes; none of them starts a program or names a file. An allow-list: a list of
 * dangerous settings would have to grow with every version of git.
 */
const keptSettings = new Set([
  'core.repositoryformatversion',
  'core.filemode',
  'core.symlinks',
  'core.ignorecase',
  'core.precomposeunicode',
  'core.autocrlf',
  'core.eol',
  'core.safecrlf',
  'core.trustctime',
  'core.checkstat',
  'core.sparsecheckout',
  'core.sparsecheckoutcone',
  'core.logallrefupdates',
  'core.sharedrepository',
  'extensions.objectformat',
  'extensions.refstorage',
  'extensions.compatobjectformat',
  'i18n.commitencoding',
  'user.name',
  'user.email',
  'branch.*.remote',
  'branch.*.merge',
  'remote.*.fetch',
]);

/** Settings that keep git from starting any program, whatever the kept ones say. */
const fixedSettings: readonly ConfigEntry[] = [
  setting('core.bare', 'false'),
  setting('core.fsmonitor', 'false'),
  setting('core.untrackedcache', 'false'),
  setting('core.attributesfile', '/dev/null'),
  setting('core.excludesfile', '/dev/null'),
  setting('core.quotepath', 'true'),
  setting('core.abbrev', 'no'),
  // Larger files are binary to git: neither compared line by line nor held in memory.
  setting('core.bigfilethreshold', '16m'),
  setting('status.renames', 'copies'),
  setting('core.pager', 'cat'),
  setting('core.editor', 'false'),
  setting('core.askpass', 'false'),
  setting('credential.helper', ''),
  setting('commit.gpgsign', 'false'),
  setting('log.showsignature', 'false'),
  setting('submodule.recurse', 'false'),
  setting('gc.auto', '0'),
  setting('maintenance.auto', 'false'),
  setting('user.useconfigonly', 'true'),
  setting('protocol.allow', 'never'),
];

/** Extensions that only say how the repository is stored, and that we can ignore. */
const harmlessExtensions = new Set([
  'noop',
  'noop-v1',
  'partialclone',
  'preciousobjects',
  'relativeworktrees',
  'worktreeconfig',
]);

/** The settings that git sees. `added` come last, so they win. */
export function settingsForGit(own: readonly ConfigEntry[], added: readonly ConfigEntry[]): ConfigEntry[] {
  return [...own.filter(isKept), ...fixedSettings, setting('core.hookspath', '/dev/null'), ...added];
}

function isKept({ section, subsection, name }: ConfigEntry): boolean {
  return keptSettings.has(subsection === undefined ? `${section}.${name}` : `${section}.*.${name}`);
}

/** Throws REPOSITORY_UNSAFE if the configuration points outside, or uses an extension that we do not know (RN-6). */
export function checkSettings(root: string, entries: readonly ConfigEntry[]): void {
  const paths = new PathValidator({ root, disk: realDisk });
  for (const { section, subsection, name, value } of entries) {
    if (section === 'core' && name === 'worktree') {
      const place = utf8(value);
      const checked = place === '' ? undefined : paths.check(place, '.git');
      if (!checked?.ok || checked.relative !== '') throw unsafe('its work tree (core.worktree) is elsewhere');
    }
    if (section === 'core' && name === 'bare' && isTrue(value))
      throw unsafe('it is bare: it has no work tree');
    if (section === 'extensions' && subsection === undefined) {
      if (!keptSettings.has(`extensions.${name}`) && !harmlessExtensions.has(name)) {
        throw unsafe(`it needs an extension of git that is not known here (${name})`);
      }
    }
  }
}

/**
 * The file that a setting includes, relative to the root. Throws REPOSITORY_UNSAFE if it leads outside. A conditional
 * include must be inside too, but is not followed: its condition depends on the person's machine.
 */
export function includedFile(root: string, file: string, entry: ConfigEntry): string | undefined {
  if ((entry.section !== 'include' && entry.section !== 'includeif') || entry.name !== 'path')
    return undefined;
  const place = utf8(entry.value);
  const checked = new PathValidator({ root, disk: realDisk }).check(place, dirname(file));
  if (!checked.ok || isExpanded(place)) throw leadsOutside(`configuration (${entry.section}.path)`);
  return entry.section === 'include' ? checked.relative : undefined;
}

/** The last value of a setting, which is the one that git uses. */
export function lastValue(entries: readonly ConfigEntry[], key: string): string | undefined {
  const wanted = setting(key, '');
  const found = entries.findLast(
    (entry) =>
      entry.section === wanted.section &&
      entry.subsection === wanted.subsection &&
      entry.name === wanted.name,
  );
  return found?.value;
}

/** The folder of the hooks, relative to the root; undefined if hooks are off. Throws REPOSITORY_UNSAFE if it is outside. */
export function hooksFolder(root: string, entries: readonly ConfigEntry[]): string | undefined {
  const value = lastValue(entries, 'core.hookspath');
  if (value === '/dev/null') return undefined;
  const named = value === undefined ? '.git/hooks' : utf8(value);
  const checked = new PathValidator({ root, disk: realDisk }).check(named);
  if (!checked.ok || isExpanded(named)) throw leadsOutside(`hooks folder (${named})`);
  return checked.relative === '' ? '.' : checked.relative;
}

/** Git replaces these with a home folder, or with its own folder. */
const isExpanded = (path: string): boolean => path.startsWith('~') || path.startsWith('%(');

const isTrue = (value: string): boolean => /^(true|yes|on|[1-9]\d*)$/i.test(value);
