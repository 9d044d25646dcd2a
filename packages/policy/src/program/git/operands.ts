import type { Notes, PathUse } from '../notes.ts';
import type { Operand } from '../options.ts';
import { commandTransport, writesKnownBranches } from './rules.ts';

/** Reads the operands of a subcommand. */
export type OperandReader = (operands: readonly Operand[], notes: Notes) => void;

/** Names of branches, tags or remotes: nothing to check. */
export const uncheckedNames: OperandReader = () => {};

/** Words of unknown meaning: everything that can be a path must be inside the workspace and not sensitive. */
export const unknownWords: OperandReader = (operands, notes) =>
  notes.unknownWords(operands.map(({ text }) => text));

/** What is done with a file; `remove` leaves no file behind, so its name does not matter (TL-4). */
type FileUse = PathUse | 'remove';

function noteFile(text: string, use: FileUse, notes: Notes): void {
  if (use === 'remove') notes.path(text, 'write', { makes: false });
  else notes.path(text, use);
}

export const files =
  (use: FileUse): OperandReader =>
  (operands, notes) => {
    for (const { text } of operands) noteFile(text, use, notes);
  };

/** Files, or `-` for standard input or output. */
export const filesOrStream =
  (use: PathUse): OperandReader =>
  (operands, notes) => {
    for (const { text } of operands) notes.pathOrStream(text, use);
  };

/** Only the first operand; the others need no check. */
export const firstOperand =
  (reader: OperandReader): OperandReader =>
  (operands, notes) =>
    reader(operands.slice(0, 1), notes);

/** Pathspecs: paths, patterns, or `:(magic)pattern`. */
export const pathspecs =
  (use: FileUse): OperandReader =>
  (operands, notes) => {
    for (const { text } of operands) notePathspec(text, use, notes);
  };

/** Revisions, then paths. Only the words after `--` are certain to be paths. */
export const revisionsOrPaths =
  (use: PathUse): OperandReader =>
  (operands, notes) => {
    for (const { text, afterDashes } of operands) {
      if (afterDashes) notePathspec(text, use, notes);
      else noteRevisionOrPath(text, use, notes);
    }
  };

/** Revisions or paths that are only read. */
export const revisions: OperandReader = revisionsOrPaths('read');

/** A repository (name, URL or path), then refs, or with --multiple more repositories. */
export const repositoryAndRefs: OperandReader = ([repository, ...refs], notes) => {
  if (repository) noteRepository(repository.text, notes);
  for (const { text } of refs) {
    if (/^[\w+.-]+::/.test(text)) notes.raise(commandTransport, text);
    else notes.mayBePath(text, 'outside');
    // In `from:to`, only `to` is written.
    if (text.includes(':')) noteWrittenRef(text.slice(text.indexOf(':')), notes);
  }
};

/** The name of a remote, then addresses. */
export const remoteAddresses: OperandReader = (operands, notes) => {
  for (const { text } of operands.slice(1)) noteRepository(text, notes);
};

/** A repository, and the directory that it is copied into. */
export const repositoryAndTarget: OperandReader = ([repository, target], notes) => {
  if (repository) noteRepository(repository.text, notes);
  if (target) notes.path(target.text, 'write');
};

/** Names of refs that are written; a ref of another work tree has a prefix (`main-worktree/refs/…`). */
export const writtenRefs: OperandReader = (operands, notes) => {
  for (const { text } of operands) noteWrittenRef(text, notes);
};

export function noteWrittenRef(text: string, notes: Notes): void {
  if (/(^|[/:+])refs\/remotes\//i.test(text)) notes.raise(writesKnownBranches, text);
}

/** A remote is a name, a URL, `host:path`, or a path on this machine. */
export function noteRepository(text: string, notes: Notes): void {
  if (/^[\w+.-]+::/.test(text) || text.startsWith('-')) notes.raise(commandTransport, text);
  else if (text.startsWith('file://')) notes.path(text.slice('file://'.length) || '/', 'read');
  else if (/^[^/]*:/.test(text)) notes.needNetwork();
  else if (/[/.~]/.test(text)) notes.path(text, 'read');
}

/** `src/*.ts`, `:(glob,icase)**\/x`, `:/x`. An excluded path, `:!docs`, is not read. */
function notePathspec(text: string, use: FileUse, notes: Notes): void {
  let pattern = text;
  let isExcluded = false;
  let isFromTop = false;
  if (text.startsWith(':(')) {
    const end = text.indexOf(')');
    const magic = text.slice(2, end < 0 ? undefined : end).split(',');
    isExcluded = magic.includes('exclude');
    isFromTop = magic.includes('top');
    pattern = end < 0 ? '' : text.slice(end + 1);
  } else if (text.startsWith(':')) {
    const short = /^:[/!^]*/.exec(text)?.[0] ?? ':';
    isExcluded = short.includes('!') || short.includes('^');
    isFromTop = short.includes('/');
    pattern = text.slice(short.length).replace(/^:/, '');
  }
  if (isExcluded || pattern === '') return;
  const isPattern = /[*?[\\]/.test(pattern);
  if (isPattern || text.startsWith(':(')) notes.glob(pattern);
  // A pattern with a backslash cannot be checked as a path; it was noted as a pattern above.
  if (pattern.includes('\\')) return;
  if (isFromTop) notes.fromStart(() => noteFile(pattern, use, notes));
  else noteFile(pattern, use, notes);
}

/**
 * `HEAD~2`, `v1..v2`, `main:src/x`, `:0:x`, `README.md`. A revision such as `v1..v2` is noted as a path too, which
 * is harmless: as a path it is inside the workspace. The part after a colon is a path in a tree and must not be
 * sensitive.
 */
function noteRevisionOrPath(text: string, use: PathUse, notes: Notes): void {
  // `:/x` may also be a search in commit messages; as a path it must not be sensitive or outside.
  if (text.startsWith(':(') || /^:[/!^]/.test(text)) {
    notePathspec(text, use, notes);
    return;
  }
  const [first, ...inTree] = text.split(':');
  for (const part of inTree) {
    for (const path of [part, ...part.split(/\.{2,3}(?!\/|$)/)]) {
      if (path === '' || path.includes('\\')) continue;
      notes.treePath(path.replace(/^\/+/, '') || '.');
    }
  }
  if (inTree.length > 0 || first === undefined || first === '') return;
  if (isPlainRevision(first)) return;
  if (/[*?[\\]/.test(first)) notes.glob(first);
  if (!first.includes('\\')) notes.path(first, use);
}

/** A revision that cannot be a path, so it is not listed as a file of the command. */
const isPlainRevision = (text: string): boolean =>
  /^(HEAD|FETCH_HEAD|ORIG_HEAD|MERGE_HEAD|@)([~^@{][^/]*)?$/.test(text) || /^\^?[0-9a-f]{7,64}$/.test(text);
