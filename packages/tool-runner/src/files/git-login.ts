/** No person's git configuration is as long; a longer one is not read through but taken for what it may be. */
export const MAX_GIT_CONFIG_BYTES = 256 * 1024;

/** Whether this is git's configuration of a repository, which may hold a login. */
export const isGitConfig = (path: string): boolean =>
  /(^|\/)\.git\/(modules\/.+\/)?config(\.worktree)?$/i.test(path);

const login =
  /https?:\/\/[^\s/"@]+@|:\/\/[^\s/"@:]*:[^\s/"@]+@|^[^#;\n]*(?:extraheader|pass|password|token|secret)[ \t]*=/im;

/**
 * Whether a git configuration is also a credential store (VA-2): a login in a URL, a header that carries a token, a
 * password. A person clones by such a URL without thinking of it, and so do build machines. `head` are its first
 * MAX_GIT_CONFIG_BYTES bytes.
 */
export const holdsLogin = (head: Uint8Array): boolean =>
  head.length >= MAX_GIT_CONFIG_BYTES || login.test(Buffer.from(head).toString('latin1'));

/** The kind of file, as a person reads it. */
export const gitLoginKind = 'git configuration with a login in it';
