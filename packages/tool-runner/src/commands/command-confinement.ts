import type { CallContext } from '../executor.ts';
import type { Confinement } from '../isolation/isolated-process.ts';

/** What of git neither checks out files nor changes its own configuration. What a patch makes comes from no history. */
const dataOnly = new Set(['add', 'apply', 'commit', 'diff', 'log', 'mv', 'rm', 'show', 'status', 'tag']);

/**
 * What a command may do (RN-5). LOW runs unasked, so it only looks, and never at secrets; what a person approved works
 * in the workspace, with the network that its card showed.
 */
export function commandConfinement(
  { riskLevel, network }: Pick<CallContext, 'riskLevel' | 'network'>,
  program: string,
  args: readonly string[],
): Confinement {
  const subcommand = args[0] ?? '';
  // `git am` goes on with steps of its own after a conflict: only its files are looked at.
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
