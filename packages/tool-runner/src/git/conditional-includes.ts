import { realpathSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { tryOr } from '../try-or.ts';
import { type ConfigEntry, utf8 } from './config-text.ts';

/**
 * The file that a setting of the person includes for a repository at `gitFolder`: `includeIf "gitdir:~/work/"`, as
 * git-config(1) describes it. People keep the key for their work there. Other conditions depend on what the repository
 * says, so they do not count.
 */
export function matchingIncludes(
  { section, subsection = '', name, value }: ConfigEntry,
  place: { readonly origin: string; readonly home: string; readonly gitFolder: string },
): string[] {
  if (section !== 'includeif' || name !== 'path') return [];
  const [, kind, pattern = ''] = /^(gitdir(?:\/i)?):(.+)$/s.exec(utf8(subsection)) ?? [];
  if (kind === undefined) return [];
  const expanded = pattern.startsWith('~/')
    ? `${place.home}/${pattern.slice(2)}`
    : pattern.startsWith('./')
      ? `${dirname(place.origin)}/${pattern.slice(2)}`
      : pattern;
  const anchored = expanded.startsWith('/') ? expanded : `**/${expanded}`;
  const whole = anchored.endsWith('/') ? `${anchored}**` : anchored;
  const matcher = new RegExp(`^${expressionOf(whole)}$`, kind === 'gitdir/i' ? 'isu' : 'su');
  const places = [place.gitFolder, tryOr(() => realpathSync(place.gitFolder), place.gitFolder)];
  if (!places.some((folder) => matcher.test(folder))) return [];
  const path = utf8(value);
  if (path.startsWith('~/')) return [join(place.home, path.slice(2))];
  return [isAbsolute(path) ? path : join(dirname(place.origin), path)];
}

/** Git's patterns for paths: `*` and `?` stay within a folder, `**` does not. */
const expressionOf = (pattern: string): string =>
  pattern.replace(/\*\*\/|\/\*\*$|\*\*|\*|\?|[.+^${}()|[\]\\]/g, (found) => {
    if (found === '**/') return '(?:.*/)?';
    if (found === '/**') return '/.*';
    if (found === '**') return '.*';
    if (found === '*') return '[^/]*';
    return found === '?' ? '[^/]' : `\\${found}`;
  });
