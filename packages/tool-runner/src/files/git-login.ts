/** A git configuration of this size or more counts as one with a login, without being searched. */
export const MAX_GIT_CONFIG_BYTES = 256 * 1024;

/** Whether this path is a repository's git configuration, which may contain a login. */
export const isGitConfig = (path: string): boolean =>
  /(^|\/)\.git\/(modules\/.+\/)?config(\.worktree)?$/i.test(path);

const login =
  /https?:\/\/[^\s/"@]+@|:\/\/[^\s/"@:]*:[^\s/"@]+@|^[^#;\n]*(?:extraheader|pass|password|token|secret)[ \t]*=/im;

/**
 * Whether a git configuration contains a login (VA-2): a password in a URL, a header with a token, or a password setting.
 * Cloning by a URL with a password leaves one. `head` is the first MAX_GIT_CONFIG_BYTES bytes of the file.
 */
export const holdsLogin = (head: Uint8Array): boolean =>
  head.length >= MAX_GIT_CONFIG_BYTES || login.test(Buffer.from(head).toString('latin1'));

/** The kind of file, for the error message. */
export const gitLoginKind = 'git configuration with a login in it';
