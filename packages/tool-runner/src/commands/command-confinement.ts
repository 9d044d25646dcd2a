import type { CallContext } from '../executor.ts';
import type { Confinement } from '../isolation/isolated-process.ts';

/**
 * What a command may do (RN-5). LOW runs unasked, so it only looks, and never at secrets; what a person approved works
 * in the workspace, with the network that its card showed.
 */
export function commandConfinement(
  { riskLevel, network }: Pick<CallContext, 'riskLevel' | 'network'>,
  program: string,
): Confinement {
  return riskLevel === 'LOW'
    ? { workspace: 'read', network: false, maskSensitive: true }
    : { workspace: 'write', network, maskSensitive: false, writableGit: program === 'git' };
}
