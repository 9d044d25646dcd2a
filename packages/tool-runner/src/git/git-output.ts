import { isUtf8 } from 'node:buffer';
import { sensitivePlaces } from '@countersign/policy';
import type { ToolSuccess } from '@countersign/protocol';
import { unsafe } from './repository-layout.ts';

type Status = ToolSuccess<'git_status'>;
type StatusFile = Status['files'][number];
type State = NonNullable<StatusFile['staged']>;

const states: Readonly<Record<string, State>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  T: 'type_changed',
  U: 'conflicted',
};

/** The state for git's letter; null for a dot. */
const stateOf = (letter: string | undefined): State | null => states[letter ?? ''] ?? null;

/**
 * Reads `git status --porcelain=v2 -z --branch`; `cut` says that its end is missing. Sensitive files are left out; a
 * file that was renamed from one is reported as added.
 */
export function parseStatus(output: Buffer, options: { entries: number; cut: boolean }): Status {
  const records = output.toString('latin1').split('\0');
  // After the last NUL comes nothing, or a record that was cut.
  records.pop();
  const head: Record<string, string> = {};
  const files: StatusFile[] = [];
  let truncated = options.cut;
  for (let i = 0; i < records.length; i++) {
    const record = records[i] as string;
    if (record.startsWith('# branch.')) {
      const space = record.indexOf(' ', 2);
      head[record.slice('# branch.'.length, space)] = record.slice(space + 1);
      continue;
    }
    const source = record.startsWith('2 ') ? records[++i] : undefined;
    if (record.startsWith('2 ') && source === undefined) break;
    const file = parseFile(record, source);
    if (!file) continue;
    if (files.length >= options.entries) {
      truncated = true;
      break;
    }
    files.push(file);
  }
  const [ahead, behind] = (head.ab ?? '+0 -0').split(' ').map((count) => Math.abs(Number(count)));
  return {
    success: true,
    branch: head.head === undefined || head.head === '(detached)' ? null : utf8(head.head),
    head: head.oid === undefined || head.oid === '(initial)' ? null : head.oid,
    upstream: head.upstream === undefined ? null : utf8(head.upstream),
    ahead: ahead ?? 0,
    behind: behind ?? 0,
    files,
    truncated,
  };
}

/** How many fields, separated by blanks, come before the path. */
const fieldsBefore: Readonly<Record<string, number>> = { '1': 8, '2': 9, u: 10, '?': 1 };

function parseFile(record: string, source: string | undefined): StatusFile | undefined {
  const type = record[0] ?? '';
  const count = fieldsBefore[type];
  if (count === undefined) return undefined;
  const fields = record.split(' ');
  const path = Buffer.from(fields.slice(count).join(' '), 'latin1');
  if (!mayBeListed(path)) return undefined;
  const named = { path: pathText(path) };
  if (type === '?') return { ...named, staged: null, unstaged: 'untracked' };
  if (type === 'u') return { ...named, staged: 'conflicted', unstaged: 'conflicted' };
  const [x, y] = fields[1] ?? '';
  const file = { ...named, staged: stateOf(x), unstaged: stateOf(y) };
  if (source === undefined) return file;
  const from = Buffer.from(source, 'latin1');
  if (mayBeListed(from)) return { ...file, old_path: pathText(from) };
  const plain = (state: State | null) => (state === 'renamed' || state === 'copied' ? 'added' : state);
  return { ...named, staged: plain(file.staged), unstaged: plain(file.unstaged) };
}

type Diff = ToolSuccess<'git_diff'>;
type DiffFile = Diff['files'][number];
type Hunk = DiffFile['hunks'][number];

/**
 * Reads `git diff --raw --patch` (without -z: so every path is one quoted word on one line). The raw part says which
 * files changed and how; the patches follow in the same order. `cut` says that the end is missing. A file whose old or
 * new name is sensitive is left out; a file that `hides` names is listed without its lines.
 */
export function parseDiff(
  output: Buffer,
  options: { entries: number; cut: boolean; hides?: (path: Buffer) => boolean },
): Diff {
  const lines = output.toString('latin1').split('\n');
  // After the last line feed comes nothing, or a line that was cut.
  lines.pop();
  const patchStart = lines.findIndex((line) => !line.startsWith(':'));
  const rawEnd = patchStart < 0 ? lines.length : patchStart;
  const changes = lines.slice(0, rawEnd).map(parseRaw);
  const patches = parsePatches(lines.slice(rawEnd));
  const files: DiffFile[] = [];
  let next = 0;
  let truncated = options.cut;
  for (const change of changes) {
    const own: Patch[] = [];
    // A file that became a link is deleted and created: two patches with the same heading.
    while (patches[next]?.heading === change.heading) own.push(patches[next++] as Patch);
    if (!mayBeListed(change.path) || (change.from && !mayBeListed(change.from))) continue;
    if (files.length >= options.entries) {
      truncated = true;
      break;
    }
    const isHidden = own.length > 0 && options.hides?.(change.path) === true;
    truncated ||= isHidden;
    files.push({
      path: pathText(change.path),
      ...(change.from ? { old_path: pathText(change.from) } : {}),
      state: change.state,
      binary: own.some((patch) => patch.binary),
      hunks: isHidden ? [] : own.flatMap((patch) => patch.hunks),
    });
  }
  return { success: true, files, truncated };
}

interface RawChange {
  readonly path: Buffer;
  readonly from: Buffer | undefined;
  readonly state: DiffFile['state'];
  /** How the patch of this file starts. */
  readonly heading: string;
}

/** `:100644 100644 1234567 89abcde R90 TAB old TAB new` */
function parseRaw(line: string): RawChange {
  const [fields = '', first = '', second] = line.split('\t');
  const letter = fields.split(' ').at(-1)?.[0];
  const target = second ?? first;
  return {
    path: unquotePath(target),
    from: second === undefined ? undefined : unquotePath(first),
    state: stateOf(letter) ?? 'modified',
    heading: `diff --git ${prefixed('a/', first)} ${prefixed('b/', target)}`,
  };
}

const prefixed = (prefix: string, path: string): string =>
  path.startsWith('"') ? `"${prefix}${path.slice(1)}` : prefix + path;

interface Patch {
  readonly heading: string;
  binary: boolean;
  readonly hunks: Hunk[];
}

const hunkHeading = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/s;

function parsePatches(lines: readonly string[]): Patch[] {
  const patches: Patch[] = [];
  let hunk: Hunk | undefined;
  for (const line of lines) {
    const patch = patches.at(-1);
    if (line.startsWith('diff --git ')) {
      patches.push({ heading: line, binary: false, hunks: [] });
      hunk = undefined;
    } else if (hunk && /^[ +\\-]/.test(line)) hunk.lines.push(utf8(line));
    else if (line.startsWith('@@ ')) {
      const [, oldStart, oldLines = '1', newStart, newLines = '1', header = ''] =
        hunkHeading.exec(line) ?? [];
      hunk = {
        old_start: Number(oldStart),
        old_lines: Number(oldLines),
        new_start: Number(newStart),
        new_lines: Number(newLines),
        header: utf8(header),
        lines: [],
      };
      patch?.hunks.push(hunk);
    } else if (patch && line.startsWith('Binary files ')) patch.binary = true;
  }
  return patches;
}

const utf8 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

export type Commit = ToolSuccess<'git_log'>['commits'][number];

/** For `git log -z`: the fields of a commit, each ended by NUL, which none of them can contain. */
export const commitFormat = 'tformat:%H%x00%an%x00%ae%x00%aI%x00%cI%x00%s%x00%b';
const FIELDS = 7;

/** Git prints something else for a date that it cannot read: then the other date is used, then the epoch. */
const isDate = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/.test(text);
const noDate = '1970-01-01T00:00:00Z';

export function parseLog(output: Buffer): Commit[] {
  const fields = output.toString('utf8').split('\0');
  const commits: Commit[] = [];
  for (let i = 0; i + FIELDS < fields.length; i += FIELDS) {
    const [id = '', author = '', email = '', authored = '', committed = '', subject = '', text = ''] =
      fields.slice(i, i + FIELDS);
    const body = text.trimEnd();
    const date = [authored, committed].find(isDate) ?? noDate;
    commits.push({ id, author, email, date, subject, ...(body === '' ? {} : { body }) });
  }
  return commits;
}

/**
 * Whether a path that git named may be shown: sensitive files are left out of every read (VA-2). Throws
 * REPOSITORY_UNSAFE for a path that is not below the root: the index or tree is forged.
 */
function mayBeListed(path: Buffer): boolean {
  const text = path.toString('utf8');
  const parts = text.split('/');
  if (text.startsWith('/') || parts.includes('..') || parts.includes('.git')) {
    throw unsafe('its index names files outside the work tree');
  }
  return sensitivePlaces.find(text.endsWith('/') ? text.slice(0, -1) : text) === undefined;
}

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
};

/** The bytes of a path that git printed: in quotes with C escapes if it has special characters. */
export function unquotePath(text: string): Buffer {
  if (!text.startsWith('"') || !text.endsWith('"') || text.length < 2) return Buffer.from(text, 'latin1');
  const plain = text
    .slice(1, -1)
    .replace(/\\([0-7]{3}|.)/gs, (_, code: string) =>
      code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8) & 0xff) : (escapes[code] ?? code),
    );
  return Buffer.from(plain, 'latin1');
}

/**
 * A path as text. JSON cannot contain bytes that are not UTF-8: such a path is given as git prints it, in quotes with
 * octal escapes, so that two files never look the same.
 */
export function pathText(path: Buffer): string {
  if (isUtf8(path)) return path.toString('utf8');
  const escaped = path
    .toString('latin1')
    .replace(/[\\"]/g, '\\$&')
    .replace(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not stand in the text
      /[\x00-\x1f\x7f-\xff]/g,
      (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`,
    );
  return `"${escaped}"`;
}
