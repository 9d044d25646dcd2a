import type { Judgement, PathUse } from '../../command/judgement.ts';
import type { Operand } from '../options.ts';
import { refuseOutside } from '../program.ts';
import { judgeUnknownWords } from '../script-arguments.ts';
import { commandTransport, writesKnownBranches } from './rules.ts';

/** How the operands of a subcommand are judged. */
export type OperandJudge = (operands: readonly Operand[], judgement: Judgement) => void;

/** Names of branches, tags or remotes: nothing to check. */
export const names: OperandJudge = () => {};

/** Words whose meaning is not known: whatever can be a path in them must be inside and not sensitive. */
export const unknownWords: OperandJudge = (operands, judgement) =>
  judgeUnknownWords(
    operands.map(({ text }) => text),
    judgement,
  );

/** What is done with a file; `remove` leaves no file behind, so its name does not matter (TL-4). */
type FileUse = PathUse | 'remove';

function judgeFile(text: string, use: FileUse, judgement: Judgement): void {
  if (use === 'remove') judgement.path(text, 'write', { makes: false });
  else judgement.path(text, use);
}

/** Files, as any other program names them. */
export const files =
  (use: FileUse): OperandJudge =>
  (operands, judgement) => {
    for (const { text } of operands) judgeFile(text, use, judgement);
  };

/** Files, or `-` for standard input or output. */
export const filesOrStream =
  (use: PathUse): OperandJudge =>
  (operands, judgement) => {
    for (const { text } of operands) judgement.pathOrStream(text, use);
  };

/** Pathspecs: paths, patterns, or `:(magic)pattern`. */
export const pathspecs =
  (use: FileUse): OperandJudge =>
  (operands, judgement) => {
    for (const { text } of operands) judgePathspec(text, use, judgement);
  };

/** Revisions, then paths; only after `--` is it sure which is which. */
export const revisionsOrPaths =
  (use: PathUse): OperandJudge =>
  (operands, judgement) => {
    for (const { text, afterDashes } of operands) {
      if (afterDashes) judgePathspec(text, use, judgement);
      else judgeRevisionOrPath(text, use, judgement);
    }
  };

export const revisions: OperandJudge = revisionsOrPaths('read');

/** A repository (name, URL or path), then refs, or with --multiple more repositories. */
export const repositoryAndRefs: OperandJudge = ([repository, ...refs], judgement) => {
  if (repository) judgeRepository(repository.text, judgement);
  for (const { text } of refs) {
    if (/^[\w+.-]+::/.test(text)) judgement.raise(commandTransport, text);
    else refuseOutside(text, judgement);
    // `from:to`, of which only the second is written.
    if (text.includes(':')) judgeWrittenRef(text.slice(text.indexOf(':')), judgement);
  }
};

/** Names of refs that are written; a ref of another work tree has a word before it. */
export const writtenRefs: OperandJudge = (operands, judgement) => {
  for (const { text } of operands) judgeWrittenRef(text, judgement);
};

export function judgeWrittenRef(text: string, judgement: Judgement): void {
  if (/(^|[/:+])refs\/remotes\//i.test(text)) judgement.raise(writesKnownBranches, text);
}

/** A remote is a name, a URL, `host:path`, or a path on this machine. */
export function judgeRepository(text: string, judgement: Judgement): void {
  if (/^[\w+.-]+::/.test(text) || text.startsWith('-')) judgement.raise(commandTransport, text);
  else if (text.startsWith('file://')) judgement.path(text.slice('file://'.length) || '/', 'read');
  else if (/^[\w+.-]+:\/\//.test(text)) judgement.needNetwork();
  else if (/^[^/]*:/.test(text)) judgement.needNetwork();
  else if (/[/.~]/.test(text)) judgement.path(text, 'read');
}

/** `src/*.ts`, `:!docs`, `:(glob,icase)**\/x`, `:/x`: what is excluded is not read. */
function judgePathspec(text: string, use: FileUse, judgement: Judgement): void {
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
  if (isPattern || text.startsWith(':(')) judgement.glob(pattern);
  // A pattern with a backslash is no path that could be checked as text; the glob above looked at it.
  if (pattern.includes('\\')) return;
  if (isFromTop) judgement.fromStart(() => judgeFile(pattern, use, judgement));
  else judgeFile(pattern, use, judgement);
}

/**
 * `HEAD~2`, `v1..v2`, `main:src/x`, `:0:x`, `README.md`. A revision passes as a path because `..` inside a
 * component leads nowhere; what stands after a colon is a path in a tree, and must not be a sensitive one.
 */
function judgeRevisionOrPath(text: string, use: PathUse, judgement: Judgement): void {
  // `:/x` may also be a search in commit messages; as a path it must not be sensitive or outside.
  if (text.startsWith(':(') || /^:[/!^]/.test(text)) {
    judgePathspec(text, use, judgement);
    return;
  }
  const [first, ...inTree] = text.split(':');
  for (const part of inTree) {
    for (const path of [part, ...part.split(/\.{2,3}(?!\/|$)/)]) {
      if (path === '' || path.includes('\\')) continue;
      judgePathInTree(path.replace(/^\/+/, '') || '.', judgement);
    }
  }
  if (inTree.length > 0 || first === undefined || first === '') return;
  if (isPlainRevision(first)) return;
  if (/[*?[\\]/.test(first)) judgement.glob(first);
  if (!first.includes('\\')) judgement.path(first, use);
}

/**
 * `HEAD:docs/x` starts at the top of the repository, which is the workspace or the directory that git was sent to;
 * rules of policy files see both. Links on the disk say nothing about a tree, so the name counts.
 */
function judgePathInTree(path: string, judgement: Judgement): void {
  const note = (): void => {
    const checked = judgement.look(path);
    if (!checked.ok) judgement.refuse(checked.refused);
    else judgement.note(checked.named, 'read');
  };
  note();
  judgement.fromStart(note);
}

/** A revision that cannot be meant as a path, so it is not listed as a file of the command. */
const isPlainRevision = (text: string): boolean =>
  /^(HEAD|FETCH_HEAD|ORIG_HEAD|MERGE_HEAD|@)([~^@{][^/]*)?$/.test(text) || /^\^?[0-9a-f]{7,64}$/.test(text);
