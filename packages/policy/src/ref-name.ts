/** Whether git accepts this branch name (git-check-ref-format) and cannot read it as an option. */
export function isBranchName(name: string): boolean {
  if (name === '' || name === '@' || name.startsWith('-') || name.endsWith('/') || name.endsWith('.'))
    return false;
  if (name.includes('..') || name.includes('//') || name.includes('@{')) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what git refuses
  if (/[\u0000-\u0020\u007f~^:?*[\\]/.test(name)) return false;
  return name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}

/** Whether this can be the name of a configured remote. A URL, a path or an option cannot. */
export const isRemoteName = (name: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name);
