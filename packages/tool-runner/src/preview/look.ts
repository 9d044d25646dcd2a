import { isRefused, type PolicyDecision } from '@countersign/policy';
import {
  type BuiltInToolName,
  CountersignError,
  makeVisible,
  type Preview,
  type ToolParams,
} from '@countersign/protocol';
import { belowRoot, openDirectory } from '../files/workspace-directory.ts';
import { fileFailure } from '../real-disk.ts';
import type { CallOf, Look, ToolModule } from '../tool-module.ts';
import type { Workspace } from '../workspace.ts';
import { type DigestedCall, digestOf } from './call-digest.ts';
import type { FileDiff } from './file-diff.ts';
import { runFiles } from './run-files.ts';

/** A file's name as a person may safely read it in one line: a name can have line feeds and tabs too. */
export const visibleName = (name: string): string =>
  makeVisible(name).replaceAll('\n', '⟨U+000A⟩').replaceAll('\t', '⟨U+0009⟩');

/** Of a tool that changes no file by itself: one sentence says all. */
export const summarised =
  <N extends BuiltInToolName>(summaryOf: (params: ToolParams<N>) => string): ToolModule<N>['look'] =>
  (call, decision, { workspace }) => ({
    digest: digestOfCall(call, decision, workspace),
    draw: () => ({ kind: 'summary', summary: summaryOf(call.params) }),
  });

/** What a program or a shell line would run in a directory, and the scripts of the workspace that it executes. */
export async function lookAtCommand(
  call: CallOf<'execute_command' | 'shell_exec' | 'shell_background'>,
  decision: PolicyDecision,
  workspace: Workspace,
  cwd = '',
): Promise<Look> {
  const { details, assessed } = decision;
  const directory = realDirectory(workspace, cwd);
  const files = await runFiles(workspace, details?.operands ?? []);
  return {
    digest: digestOfCall(call, decision, workspace, { directory, files }),
    draw: () => ({
      kind: 'command',
      commands: (details?.commands ?? []).map(({ words }) =>
        words.map((word) => (word === undefined ? null : makeVisible(word))),
      ),
      cwd: visibleName(directory || '.'),
      network: networkOf(decision),
      // Undo knows what file tools did, not what a program does; a program that only reads leaves nothing to undo.
      reversible: assessed?.decision === 'LOW',
      scripts: files.map(({ path }) => visibleName(path || '.')),
    }),
  };
}

function realDirectory({ root }: Workspace, cwd: string): string {
  try {
    const directory = openDirectory(root, belowRoot(root, cwd));
    directory.close();
    return directory.path;
  } catch (error) {
    throw fileFailure(error, cwd, 'READ_FAILED');
  }
}

/** The base of a call that changes no file by a plan of ours. */
export function digestOfCall(
  call: DigestedCall['call'],
  decision: PolicyDecision,
  { root }: Workspace,
  { directory = '', files = [], base = [] }: Partial<Pick<DigestedCall, 'directory' | 'files' | 'base'>> = {},
): string {
  return digestOf({ call, root, directory, network: networkOf(decision), files, base });
}

const networkOf = ({ verdict }: PolicyDecision): boolean => !isRefused(verdict) && verdict.network;

/**
 * The files that a plan is about must be those that policy has judged: a link swapped in between could lead to a
 * sensitive file (VA-2), and nothing of that may be shown.
 */
export function confirmJudged({ details }: PolicyDecision, paths: readonly string[]): void {
  const judged = new Set(details?.operands.map(({ path }) => path));
  const other = paths.find((path) => !judged.has(path));
  if (other === undefined) return;
  throw new CountersignError('APPROVAL_STALE', { problem: `"${other}" is not the file that was judged` });
}

/** Characters of everything that a preview shows: at most 3 bytes each, so that a body of 8 MiB has room for them. */
const MAX_CHARACTERS = 1_500_000;
/** Hooks or scripts of one preview. Files and commits are bounded already, by `limits.entries`. */
const MAX_ENTRIES = 1_000;
/** Words of all commands of one preview: a body has room for 50,000 values. */
const MAX_WORDS = 20_000;

/**
 * The preview within what the server takes, whatever the call names. What is left out is said in its place, so that a
 * person who approves sees that there is more.
 */
export function fitPreview(preview: Preview): Preview {
  const room = new Room();
  switch (preview.kind) {
    case 'diff':
      return { ...preview, files: room.files(preview.files) };
    case 'commit':
      return {
        ...preview,
        hooks: room.list(preview.hooks, 'hooks'),
        message: room.text(preview.message),
        files: room.files(preview.files),
      };
    case 'push':
      return {
        ...preview,
        hooks: room.list(preview.hooks, 'hooks'),
        commits: preview.commits.map(({ id, subject, author }) => ({
          id,
          subject: room.text(subject),
          author: room.text(author),
        })),
      };
    case 'command':
      return {
        ...preview,
        commands: room.commands(preview.commands),
        scripts: room.list(preview.scripts, 'scripts'),
      };
    case 'custom':
      return {
        ...preview,
        summary: room.text(preview.summary),
        ...(preview.runs !== undefined && { runs: room.text(preview.runs) }),
      };
    default:
      return preview;
  }
}

/** How much can still be shown. Half of what is left is the most that one text takes. */
class Room {
  #left = MAX_CHARACTERS;

  text(text: string): string {
    const most = Math.floor(this.#left / 2);
    const shown =
      text.length <= most
        ? text
        : `${text.slice(0, most).toWellFormed()}⟨${text.length - most} more characters⟩`;
    this.#left = Math.max(0, this.#left - shown.length);
    return shown;
  }

  list(texts: readonly string[], what: string): string[] {
    const shown = texts.slice(0, MAX_ENTRIES).map((text) => this.text(text));
    const more = texts.length - shown.length;
    return more > 0 ? [...shown, `⟨and ${more} more ${what}⟩`] : shown;
  }

  files(files: readonly FileDiff[]): FileDiff[] {
    return files.map((file) => {
      const path = this.text(file.path);
      const most = Math.floor(this.#left / 2);
      const isWhole = file.diff.length <= most;
      const shown = isWhole ? file.diff : file.diff.slice(0, file.diff.lastIndexOf('\n', most) + 1);
      this.#left -= shown.length;
      if (isWhole) return { ...file, path };
      return { ...file, path, diff: `${shown}\\ The rest of this file is not shown\n`, truncated: true };
    });
  }

  commands(commands: readonly (readonly (string | null)[])[]): (string | null)[][] {
    let words = 0;
    const shown: (string | null)[][] = [];
    for (const command of commands) {
      const kept = command.slice(0, Math.max(0, MAX_WORDS - words - shown.length));
      words += kept.length;
      if (kept.length > 0) shown.push(kept.map((word) => (word === null ? null : this.text(word))));
      if (kept.length < command.length) break;
    }
    const more = commands.reduce((sum, { length }) => sum + length, 0) - words;
    return more > 0 ? [...shown, [`⟨and ${more} more words⟩`]] : shown;
  }
}
