/** Translates file globs of other programs into ours; undefined for a place outside the workspace. */

/**
 * A pattern as .gitignore reads it, from the root of the workspace: without a slash, the name at any depth. `rooted`: whether
 * a leading slash means the root of the workspace.
 */
export function gitignoreGlob(pattern: string, { rooted }: { readonly rooted: boolean }): string | undefined {
  if (/^(~|\/\/|[A-Za-z]:)/.test(pattern) || (pattern.startsWith('/') && !rooted)) return undefined;
  if (pattern.split('/').includes('..')) return undefined;
  const plain = pattern.replace(/^\.?\//, '');
  const isInRoot = pattern !== plain;
  const folder = plain.endsWith('/') ? `${plain}**` : plain;
  return isInRoot && !folder.includes('/') ? `./${folder}` : folder;
}

/** A pattern in which `*` matches any text, slashes too, and brackets and braces are literal: `app/[id]/page.tsx`. */
export function textGlob(pattern: string): string | undefined {
  if (/^(~|\/|\$HOME|[A-Za-z]:)/.test(pattern) || pattern.split('/').includes('..')) return undefined;
  const parts = pattern
    .replace(/^\.\//, '')
    .replace(/[\\[\]{}]/g, '\\$&')
    .split('/');
  const made = parts.flatMap((part, index) => {
    if (/^\*+$/.test(part)) return ['**'];
    // `docs/*.md` is any .md below docs; a name without a slash is found at any depth already.
    return part.startsWith('*') && index > 0 ? ['**', part] : [part];
  });
  return made.join('/');
}

/** Adds everything below the path, in case it is a folder. For rules that deny. */
export function withContents(glob: string): string {
  if (/\*$|(?<!\\)[{}]/.test(glob)) return glob;
  const anywhere = glob.includes('/') ? glob : `**/${glob}`;
  return `{${anywhere},${anywhere}/**}`;
}

export const isLiteralGlob = (glob: string): boolean => !/[*?[{\\]/.test(glob);
