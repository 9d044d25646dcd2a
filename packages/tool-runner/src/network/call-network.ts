import { type CallAssessment, networkNeeds } from '@countersign/policy';
import type { NetworkAccess } from '@countersign/protocol';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import type { PackageSources } from './package-sources.ts';
import { remoteHosts } from './remote-hosts.ts';

/** Nobody would read a longer list, and a repository may name thousands of remotes. */
const maxHosts = 50;

export interface CallNetworkOptions {
  readonly root: string;
  readonly starter: Pick<IsolatingStarter, 'isIsolated'>;
  readonly sources: Pick<PackageSources, 'hostsOf'>;
}

/**
 * Computes the hosts that a command may reach (RN-5). The card shows them, the digest covers them, and the network gate
 * allows no others.
 */
export class CallNetwork {
  readonly #options: CallNetworkOptions;

  constructor(options: CallNetworkOptions) {
    this.#options = options;
  }

  /** `isGranted`: whether the call gets network access at all. Without isolation, no host can be blocked. */
  async of(
    call: { readonly params: object },
    { commands }: Pick<CallAssessment, 'commands'>,
    isGranted: boolean,
  ): Promise<NetworkAccess> {
    if (!isGranted) return false;
    const { root, starter, sources } = this.#options;
    const needs = networkNeeds(call, commands);
    if (needs.anyHost || !starter.isIsolated) return true;
    const known = await Promise.all(needs.sources.map((source) => sources.hostsOf(source)));
    const hosts = new Set([...needs.hosts, ...known.flat(), ...remoteHosts(root, needs.remotes)]);
    return [...hosts].slice(0, maxHosts).sort();
  }
}
