import { isRefused, type PolicyDecision } from '@countersign/policy';
import {
  type BuiltInToolName,
  CountersignError,
  makeVisible,
  type Preview,
  type ToolParams,
} from '@countersign/protocol';
import { realDirectory } from '../files/workspace-directory.ts';
import { fileFailure } from '../real-disk.ts';
import type { CallOf, CommandServices, Look, ToolModule } from '../tool-module.ts';
import type { Workspace } from '../workspace.ts';
import { type DigestedCall, digestOf } from './call-digest.ts';
import type { FileDiff } from './file-diff.ts';
import { runFiles } from './run-files.ts';

/** Makes hidden characters of a file name visible, including line feeds and tabs. */
export const visibleName = (name: string): string =>
  makeVisible(name).replaceAll('\n', '⟨U+000A⟩').replaceAll('\t', '⟨U+0009⟩');

/** Makes the `look` of a tool that changes no files. Its preview is one sentence. */
export const summarised =
  <N extends BuiltInToolName>(summaryOf: (params: ToolParams<N>) => string): ToolModule<N>['look'] =>
  (call, decision, { workspace }) => ({
    digest: digestOfCall(call, decision, workspace),
    draw: () => ({ kind: 'summary', summary: summaryOf(call.params) }),
  });

/** What is known of a command besides its words. */
export interface CommandFacts {
  /** Where the person's own git fetches from for it. `base` goes into the digest. */
  readonly fetches?:
    | { readonly url: string; readonly refs: readonly string[]; readonly base: readonly string[] }
    | undefined;
  /** Git folders outside the workspace that it uses as remotes. */
  readonly repositories?: readonly string[];
}

/** Returns the digest and preview of a command: its words, working directory, and scripts of the workspace that it runs. */
export async function lookAtCommand(
  call: CallOf<'execute_command' | 'shell_exec' | 'shell_background'>,
  decision: PolicyDecision,
  services: Pick<CommandServices, 'workspace' | 'callNetwork'>,
  { fetches, repositories = [] }: CommandFacts = {},
): Promise<Look> {
  const { details, assessed } = decision;
  const { workspace, callNetwork } = services;
  const cwd = 'cwd' in call.params ? call.params.cwd : undefined;
  const isGranted = networkOf(decision);
  const network = (details && (await callNetwork?.of(call, details, isGranted))) ?? isGranted;
  const directory = workingDirectory(workspace, cwd ?? '');
  const files = await runFiles(workspace, details?.operands ?? []);
  return {
    digest: digestOfCall(call, decision, workspace, {
      directory,
      files,
      network,
      base: [...(fetches?.base ?? []), ...repositories.map((folder) => `uses ${folder}`)],
    }),
    draw: () => ({
      kind: 'command',
      commands: (details?.commands ?? []).map(({ words }) =>
        words.map((word) => (word === undefined ? null : makeVisible(word))),
      ),
      cwd: visibleName(directory || '.'),
      network: network !== false,
      ...(typeof network !== 'boolean' && { hosts: [...network] }),
      // Undo covers file tools, not programs. A LOW program only reads, so there is nothing to undo.
      reversible: assessed?.decision === 'LOW',
      scripts: files.map(({ path }) => visibleName(path || '.')),
      ...(fetches && {
        fetches: { url: visibleName(fetches.url), refs: fetches.refs.map(visibleName) },
      }),
      ...(repositories.length > 0 && { repositories: repositories.map(visibleName) }),
    }),
  };
}

function workingDirectory({ root }: Workspace, cwd: string): string {
  try {
    return realDirectory(root, cwd);
  } catch (error) {
    throw fileFailure(error, cwd, 'READ_FAILED');
  }
}

/** Returns the digest base of a call that is not in change-files.ts. */
export function digestOfCall(
  call: DigestedCall['call'],
  decision: PolicyDecision,
  { root }: Workspace,
  {
    directory = '',
    files = [],
    base = [],
    network = networkOf(decision),
  }: Partial<Pick<DigestedCall, 'directory' | 'files' | 'base' | 'network'>> = {},
): string {
  return digestOf({ call, root, directory, network, files, base });
}

const networkOf = ({ verdict }: PolicyDecision): boolean => !isRefused(verdict) && verdict.network;

/**
 * Throws APPROVAL_STALE unless policy has judged all these paths. Without this check, a link that was swapped in after the
 * policy decision could show a sensitive file in the preview (VA-2).
 */
export function confirmJudged({ details }: PolicyDecision, paths: readonly string[]): void {
  const judged = new Set(details?.operands.map(({ path }) => path));
  const other = paths.find((path) => !judged.has(path));
  if (other === undefined) return;
  throw new CountersignError('APPROVAL_STALE', { problem: `"${other}" is not the file that was judged` });
}

/** Maximum number of characters in a preview. Each takes at most 3 bytes, and a request body may have 8 MiB. */
const MAX_CHARACTERS = 1_500_000;
/** Maximum number of hooks or scripts. Files and commits are already limited by `limits.entries`. */
const MAX_ENTRIES = 1_000;
/** Maximum number of words of all commands. A request body may have 50,000 JSON values. */
const MAX_WORDS = 20_000;

/** Shortens a preview to what the server accepts. Notes in the preview tell the person what was left out. */
export function fitPreview(preview: Preview): Preview {
  const budget = new CharacterBudget();
  switch (preview.kind) {
    case 'diff':
      return { ...preview, files: budget.files(preview.files) };
    case 'commit':
      return {
        ...preview,
        hooks: budget.list(preview.hooks, 'hooks'),
        message: budget.text(preview.message),
        files: budget.files(preview.files),
      };
    case 'push':
      return {
        ...preview,
        hooks: budget.list(preview.hooks, 'hooks'),
        commits: preview.commits.map(({ id, subject, author }) => ({
          id,
          subject: budget.text(subject),
          author: budget.text(author),
        })),
      };
    case 'command':
      return {
        ...preview,
        commands: budget.commands(preview.commands),
        scripts: budget.list(preview.scripts, 'scripts'),
        ...(preview.fetches && {
          fetches: {
            url: budget.text(preview.fetches.url),
            refs: budget.list(preview.fetches.refs, 'refs'),
          },
        }),
        ...(preview.repositories && {
          repositories: budget.list(preview.repositories, 'repositories'),
        }),
      };
    case 'custom':
      return {
        ...preview,
        summary: budget.text(preview.summary),
        ...(preview.runs !== undefined && { runs: budget.text(preview.runs) }),
      };
    default:
      return preview;
  }
}

/** Counts how many characters can still be shown. One text gets at most half of them. */
class CharacterBudget {
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
