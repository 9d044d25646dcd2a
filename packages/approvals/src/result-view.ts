import {
  type BuiltInToolName,
  findTool,
  type JsonValue,
  resultSchemaOf,
  type ToolSuccess,
} from '@countersign/protocol';
import { type DiffLine, parseUnifiedDiff } from './unified-diff.ts';

type Entry = ToolSuccess<'search_files'>['files'][number];
type Diagnostic = ToolSuccess<'diagnostics'>['diagnostics'][number];
type CodeSymbol = ToolSuccess<'symbols'>['symbols'][number];
type Location = ToolSuccess<'references'>['locations'][number];
type Commit = ToolSuccess<'git_log'>['commits'][number];
type Branch = ToolSuccess<'git_branch'>['branches'][number];

/** A file of a diff, with its lines. */
export interface FileLines {
  readonly path: string;
  readonly operation: string;
  readonly lines: readonly DiffLine[];
}

/** A result by its kind. Each front end draws the kinds in its own way; `json` is for a result of unknown shape. */
export type ResultView =
  | {
      readonly kind: 'terminal';
      readonly output: string;
      readonly exitCode: number | null;
      /** Left out if the command changed nothing, or if that is not known. */
      readonly landing?: Landing;
    }
  | { readonly kind: 'text'; readonly text: string; readonly path: string; readonly firstLine: number }
  | { readonly kind: 'picture'; readonly mediaType: string; readonly base64: string }
  | { readonly kind: 'listing'; readonly entries: readonly Entry[]; readonly truncated: boolean }
  | { readonly kind: 'matches'; readonly files: readonly MatchedFile[]; readonly truncated: boolean }
  | { readonly kind: 'diff'; readonly files: readonly FileLines[]; readonly truncated: boolean }
  | { readonly kind: 'status'; readonly status: ToolSuccess<'git_status'> }
  | { readonly kind: 'commits'; readonly commits: readonly Commit[]; readonly truncated: boolean }
  | { readonly kind: 'branches'; readonly current: string | null; readonly branches: readonly Branch[] }
  | { readonly kind: 'diagnostics'; readonly diagnostics: readonly Diagnostic[]; readonly truncated: boolean }
  | { readonly kind: 'symbols'; readonly symbols: readonly CodeSymbol[]; readonly truncated: boolean }
  | { readonly kind: 'locations'; readonly locations: readonly Location[]; readonly truncated: boolean }
  | {
      readonly kind: 'changed';
      readonly files: readonly { readonly path: string; readonly operation: string }[];
      /** Number of changed lines; undefined if the call does not tell. */
      readonly lines?: { readonly added: number; readonly removed: number } | undefined;
    }
  /** A few names and values. */
  | { readonly kind: 'facts'; readonly facts: readonly (readonly [string, string])[] }
  | { readonly kind: 'json'; readonly value: JsonValue };

/** What a command changed, and what it wrote that did not land in the workspace (RN-12). */
export interface Landing {
  readonly files: readonly { readonly path: string; readonly operation: string }[];
  /** Why `files` may lack some. */
  readonly incomplete: string | undefined;
  readonly withheld: readonly string[];
  readonly conflicts: readonly string[];
  readonly isUndoable: boolean;
  readonly notUndoable: string | undefined;
}

export interface MatchedFile {
  readonly path: string;
  readonly matches: NonNullable<Entry['matches']>;
}

type Views = {
  readonly [Name in BuiltInToolName]: (result: ToolSuccess<Name>, params: Params) => ResultView;
};
type Params = Readonly<Record<string, JsonValue>>;

const terminal = ({
  stdout,
  stderr,
  exit_code,
}: {
  stdout: string;
  stderr: string;
  exit_code: number | null;
}) => ({ kind: 'terminal', output: joined(stdout, stderr), exitCode: exit_code }) as const;
const command = (result: ToolSuccess<'execute_command'>): ResultView => {
  const landing = landingOf(result);
  return { ...terminal(result), ...(landing && { landing }) };
};
const changed = ({ changed_files }: Pick<ToolSuccess<'write_file'>, 'changed_files'>) =>
  ({ kind: 'changed', files: changed_files }) as const;
const locations = ({ locations, truncated }: ToolSuccess<'references'>) =>
  ({ kind: 'locations', locations, truncated }) as const;

/** A longer text is masked in records (DA-3): its lines are not counted, so that a call reads the same after a reload. */
const MAX_COUNTED_BYTES = 2048;
const maskedText = /^\[\d+ bytes, digest /;

/** How many lines differ between two texts, apart from those that both begin or end with. */
function changedLines(before: JsonValue | undefined, after: JsonValue | undefined) {
  const isCounted = (text: JsonValue | undefined): text is string =>
    typeof text === 'string' &&
    new TextEncoder().encode(text).length <= MAX_COUNTED_BYTES &&
    !maskedText.test(text);
  if (!isCounted(before) || !isCounted(after)) return undefined;
  const [old, now] = [linesOf(before), linesOf(after)];
  const most = Math.min(old.length, now.length);
  let start = 0;
  while (start < most && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < most - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  return { added: now.length - start - end, removed: old.length - start - end };
}

const linesOf = (text: string): readonly string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** The ports of a job follow its output, each with the command that opens it in a browser. Needs no translation. */
const jobOutput = ({ ports = [], ...result }: ToolSuccess<'shell_output'>) => {
  const { output, ...view } = terminal(result);
  const lines = ports.map((port) => `→ localhost:${port} · countersign open ${port}`);
  return { ...view, output: joined(output, lines.join('\n')) };
};

/** The values of a result that are known, by their names. */
const facts = (values: Readonly<Record<string, string | number | null | undefined>>) =>
  ({
    kind: 'facts',
    facts: Object.entries(values).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, String(value)] as const],
    ),
  }) as const;

/** The view of each built-in tool's result. */
const views: Views = {
  execute_command: command,
  shell_exec: command,
  shell_background: ({ job_id }) => facts({ job_id }),
  shell_output: jobOutput,
  shell_kill: ({ exit_code }) => facts({ exit_code }),
  reach_host: ({ host }) => facts({ host }),
  read_file: readFileView,
  write_file: (result, { content }) => ({
    ...changed(result),
    lines: result.changed_files[0]?.operation === 'created' ? changedLines('', content) : undefined,
  }),
  edit_file: (result, { old, new: replacement, replace_all }) => ({
    ...changed(result),
    lines: replace_all === true ? undefined : changedLines(old, replacement),
  }),
  copy_file: changed,
  move_file: changed,
  delete_file: changed,
  create_directory: changed,
  list_directory: ({ files, truncated }) => ({ kind: 'listing', entries: files, truncated }),
  search_files: searchView,
  git_status: (status) => ({ kind: 'status', status }),
  git_diff: ({ files, truncated }) => ({ kind: 'diff', files: files.map(diffedFile), truncated }),
  git_log: ({ commits, truncated }) => ({ kind: 'commits', commits, truncated }),
  git_commit: ({ commit }) => ({ kind: 'commits', commits: [commit], truncated: false }),
  git_push: ({ remote, branch, from, to }) => facts({ remote, branch, from, to }),
  git_branch: ({ current, branches }) => ({ kind: 'branches', current, branches }),
  diagnostics: ({ diagnostics, truncated }) => ({ kind: 'diagnostics', diagnostics, truncated }),
  symbols: ({ symbols, truncated }) => ({ kind: 'symbols', symbols, truncated }),
  hover: ({ contents, text }) => ({ kind: 'text', text: contents ?? text, path: '', firstLine: 1 }),
  definition: locations,
  references: locations,
};

/** The view of a call's result. A result that does not have the tool's shape is shown unchanged. */
export function resultView(toolName: string, params: Params, result: JsonValue): ResultView {
  const tool = findTool(toolName);
  const view = tool && views[tool.name as BuiltInToolName];
  const parsed = view && resultSchemaOf(tool).safeParse(result);
  if (view && parsed?.success && !isFailure(parsed.data)) return view(parsed.data as never, params);
  return customView(result) ?? { kind: 'json', value: result };
}

/** True for a failure without output: its error says it all. A failed command still has output to show. */
const isFailure = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && 'code' in data && !('stdout' in data);

function landingOf(result: ToolSuccess<'execute_command'>): Landing | undefined {
  const { changed_files, changed_files_incomplete, withheld, conflicts, undoable, not_undoable } = result;
  const told = [changed_files, changed_files_incomplete, withheld, conflicts, undoable, not_undoable];
  if (told.every((field) => field === undefined)) return undefined;
  return {
    files: changed_files ?? [],
    incomplete: changed_files_incomplete,
    withheld: (withheld ?? []).map(({ path }) => path),
    conflicts: (conflicts ?? []).map(({ path }) => path),
    isUndoable: undoable === true,
    notUndoable: not_undoable,
  };
}

function readFileView(
  { content, encoding, media_type, size, start_line = 1 }: ToolSuccess<'read_file'>,
  { path }: Params,
): ResultView {
  if (encoding !== 'base64')
    return { kind: 'text', text: content, path: String(path), firstLine: start_line };
  return media_type?.startsWith('image/')
    ? { kind: 'picture', mediaType: media_type, base64: content }
    : facts({ media_type, size });
}

function searchView({ files, truncated }: ToolSuccess<'search_files'>): ResultView {
  if (!files.some(({ matches }) => matches)) return { kind: 'listing', entries: files, truncated };
  return { kind: 'matches', files: files.map(({ path, matches = [] }) => ({ path, matches })), truncated };
}

function diffedFile({ path, state, binary, hunks }: ToolSuccess<'git_diff'>['files'][number]): FileLines {
  const text = hunks.map(({ old_start, old_lines, new_start, new_lines, header, lines }) =>
    [`@@ -${old_start},${old_lines} +${new_start},${new_lines} @@ ${header}`.trimEnd(), ...lines].join('\n'),
  );
  return { path, operation: state, lines: binary ? [] : parseUnifiedDiff(text.join('\n')) };
}

/** What custom tools return: a text, or items of which the first picture or the texts are shown. */
function customView(result: JsonValue): ResultView | undefined {
  if (typeof result === 'string') return { kind: 'text', text: result, path: '', firstLine: 1 };
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return undefined;
  const { content, stdout, stderr, exit_code } = result;
  if (typeof stdout === 'string')
    return terminal({ stdout, stderr: String(stderr ?? ''), exit_code: Number(exit_code ?? 0) });
  return typeof content === 'string' && content !== ''
    ? { kind: 'text', text: content, path: '', firstLine: 1 }
    : undefined;
}

/** Both streams as a terminal would show them, one after the other. */
export const joined = (stdout: string, stderr: string): string =>
  stdout !== '' && stderr !== '' && !stdout.endsWith('\n') ? `${stdout}\n${stderr}` : `${stdout}${stderr}`;
