import { PathValidator, sensitivePlaces } from '@countersign/policy';
import { CountersignError, type ToolParams } from '@countersign/protocol';
import { withChanges } from '../commands/workspace-changes.ts';
import type { CallContext } from '../executor.ts';
import { summarised } from '../preview/look.ts';
import { realDisk } from '../real-disk.ts';
import type { GitOptions, GitRepository } from './git-repository.ts';
import { hidePasswords } from './remote-address.ts';

// The git tools run real git, in isolation, on the workspace's own repository (RN-6). git-repository.ts explains how git
// is kept from running the repository's programs, and persons-git.ts how a push reaches its remote. Reads run in the LOW
// confinement. A commit and a push run hooks, which the preview lists and the digest covers; a commit has no network.

export const lookAtRead = summarised<'git_status' | 'git_diff' | 'git_log'>(
  () => 'Reads from the git repository.',
);

/** Checks a path again at the moment of use (VA-8) and returns it as an operand for git. */
export function operandForGit(root: string, path: string): string {
  const checked = new PathValidator({ root, disk: realDisk }).check(path);
  if (checked.ok) return checked.named === '' ? '.' : checked.named;
  const kind = sensitivePlaces.find(path)?.kind ?? 'by where its links lead';
  throw new CountersignError(checked.refused.code, { path, kind, problem: 'git cannot use it here' });
}

/** The path that a read is limited to, if any. */
export const limitTo = (
  { workspace }: GitRepository,
  { path }: Pick<ToolParams<'git_status'>, 'path'>,
): string[] => (path === undefined ? [] : [operandForGit(workspace.root, path)]);

/** Options for approved calls: git may write, hooks get the longest timeout, and stderr is sent as progress. */
export function writingOptions(
  { workspace }: GitRepository,
  { signal, onProgress, onProcess }: CallContext,
): GitOptions {
  return {
    confinement: { workspace: 'write', writableGit: 'data' },
    environment: { GIT_OPTIONAL_LOCKS: '1' },
    timeoutSeconds: workspace.limits.commandTimeoutMaxSeconds,
    signal,
    onProcess,
    onStderr: (chunk) => onProgress({ output: { stream: 'stderr', chunk: hidePasswords(chunk) } }),
  };
}

/** Hooks call git too, and use path patterns, so literal pathspecs are off. */
export const hookEnvironment = { GIT_OPTIONAL_LOCKS: '1', GIT_LITERAL_PATHSPECS: '0' };

/** Runs git and finds the files that its hooks changed (a formatter may). Git itself does not change the work tree. */
export const withHookChanges = <T>(
  { workspace }: GitRepository,
  { hooks }: { readonly hooks: readonly string[] },
  { signal }: CallContext,
  run: () => Promise<T>,
) => withChanges(workspace, hooks.length > 0, signal, run);

export const invalidParams = (tool: string, problem: string): CountersignError =>
  new CountersignError('INVALID_PARAMS', { tool, problem });
