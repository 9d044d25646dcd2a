/**
 * Paths as text. Always `/` between components; nothing is decoded, expanded or looked up on a disk.
 */

/** `/a/b/../c` → `['a', 'c']`; a `..` above the root stays at the root, as in a kernel. */
export function absoluteComponents(path: string): string[] {
  const stack: string[] = [];
  for (const part of path.split('/')) pushComponent(stack, part);
  return stack;
}

/** Applies one component to a stack: empty and `.` do nothing, `..` goes up. */
export function pushComponent(stack: string[], part: string): void {
  if (part === '' || part === '.') return;
  if (part === '..') stack.pop();
  else stack.push(part);
}

export const joinAbsolute = (components: readonly string[]): string => `/${components.join('/')}`;

/** Where `path` is below `root`: `''` for the root itself, `undefined` when it is not inside. */
export function relativeInside(root: readonly string[], path: readonly string[]): string | undefined {
  if (path.length < root.length) return undefined;
  for (let i = 0; i < root.length; i++) if (root[i] !== path[i]) return undefined;
  return path.slice(root.length).join('/');
}

/**
 * A component as a case-insensitive, normalising or Windows file system would compare it: NFKC, lower case,
 * without an alternate data stream and without trailing dots and spaces. For comparing names only.
 */
export function foldName(component: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the class is exactly the ASCII range
  const isAscii = /^[\x00-\x7f]*$/.test(component);
  let folded = isAscii
    ? component
    : component.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  folded = folded.toLowerCase();
  if (!isAscii) folded = folded.normalize('NFKC');
  const stream = folded.indexOf(':');
  if (stream > 0) folded = folded.slice(0, stream);
  return folded.replace(/[. ]+$/, '') || folded;
}

/**
 * The last extension of a file name with its dot, in lower case: `A.TAR.GZ` → `.gz`, `Makefile` → `''`. A name with a
 * colon has two: on Windows the colon starts a stream, elsewhere it is part of the name.
 */
export function extensionsOf(path: string): string[] {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const readings = name.includes(':') ? [name, name.slice(name.lastIndexOf(':') + 1)] : [name];
  return readings.map((reading) => {
    const folded = foldName(reading);
    const dot = folded.lastIndexOf('.');
    return dot <= 0 ? '' : folded.slice(dot);
  });
}
