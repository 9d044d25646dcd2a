import { readNetworkHost } from '@countersign/protocol';
import type { GatePass } from '../isolation/gate-pass.ts';

/** A sentence about hosts that the network gate refused, and one about those that the person did not allow. */
export function refusedNotes({
  refused = [],
  rejected = [],
}: Partial<Pick<GatePass, 'refused' | 'rejected'>> = {}): string[] {
  const notes =
    rejected.length === 0
      ? []
      : [
          `it wanted to reach ${rejected.join(', ')}; the person was asked and did not allow it. Do not try that again unless they say so`,
        ];
  if (refused.length === 0) return notes;
  const note = `it wanted to reach ${refused.join(', ')}, which its card did not name. To ask for that, call again with network: ${JSON.stringify(refused)} and what you named before`;
  return [...notes, note];
}

/** How programs say that they could not reach a host. A refused connection is not among them: it may be the loopback. */
const failures =
  /ENOTFOUND|EAI_AGAIN|ENETUNREACH|Could(?: not|n't) resolve (?:host|proxy)|Could not reach host|dial tcp: lookup|UnknownHostException|NameResolutionError|dns error|Temporary failure (?:in name resolution|resolving)|Name or service not known|Network is unreachable|No address associated with hostname|failed to lookup address|nodename nor servname|no such host|unable to resolve host/i;

/** Where a program names the host that it could not reach. */
const namedHosts = [
  /(?:ENOTFOUND|EAI_AGAIN) ([\w.-]+)/,
  /Could not resolve (?:host|hostname):? ['"]?([\w.-]+)/i,
  /Temporary failure resolving ['"]?([\w.-]+)/i,
  /unable to resolve host(?: address)? ['"‘“]?([\w.-]+)/i,
  /lookup ([\w.-]+)[: ]/,
  /(?:UnknownHostException:|Could not reach host) ([\w.-]+)/,
  /https?:\/\/([\w.-]+)/,
];

/** One sentence for a command that failed without network in a way that looks like it wanted some. */
export function noNetworkNote(output: string): string | undefined {
  const at = failures.exec(output)?.index;
  if (at === undefined) return undefined;
  // Most programs name the host on the same line or just before.
  const near = output.slice(Math.max(0, at - 300), at + 300);
  const named = namedHosts.map((pattern) => pattern.exec(near)?.[1]).find((name) => name !== undefined);
  const host = named === undefined ? undefined : readNetworkHost(named.replace(/[.:]+$/, ''));
  return `this command had no network. If it needs some, call again with network: ["${host ?? 'the name of the host'}"]; the person is asked`;
}
