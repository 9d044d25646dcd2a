/** First components that mean something else without `./` before them: an option, pathspec magic, a home, a drive. */
const NEEDS_DOT = /^(?:[-:~]|[A-Za-z]:)/;

/**
 * A path without its empty and `.` components: `.//a/./b` → `a/b`. A slash at the end stays, since it says that a
 * directory is meant. `..` stays as well: behind a link it does not lead where the text says.
 */
export function shortPath(path: string): string {
  const kept = path.split('/').filter((part) => part !== '' && part !== '.');
  const start = path.startsWith('/')
    ? '/'
    : NEEDS_DOT.test(kept[0] ?? '') && path.startsWith('./')
      ? './'
      : '';
  if (kept.length === 0) return start || '.';
  const isDirectory = path.endsWith('/') || path.endsWith('/.');
  return `${start}${kept.join('/')}${isDirectory ? '/' : ''}`;
}
