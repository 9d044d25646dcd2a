import type { CallContext } from '../executor.ts';
import type { Confinement } from '../isolation/isolated-process.ts';

/** Git commands that neither check out files from history nor change git's configuration. */
const dataOnly = new Set(['add', 'apply', 'commit', 'diff', 'log', 'mv', 'rm', 'show', 'status', 'tag']);

/**
 * What a command may do (RN-5). A LOW command runs unasked, so it may only read, and no secrets; an approved one may
 * write the workspace, and has network if its card said so.
 */
export function commandConfinement(
  { riskLevel, network }: Pick<CallContext, 'riskLevel' | 'network'>,
  program: string,
  args: readonly string[],
): Confinement {
  const subcommand = args[0] ?? '';
  // `git am` continues with steps of its own after a conflict, so it may write them.
  const gitWrites = dataOnly.has(subcommand) ? 'data' : subcommand === 'am' ? 'patches' : 'everything';
  return riskLevel === 'LOW'
    ? { workspace: 'read', network: false, maskSensitive: true, maskLinkedOutside: true }
    : {
        workspace: 'write',
        network,
        maskSensitive: false,
        writableGit: program === 'git' ? gitWrites : undefined,
      };
}
