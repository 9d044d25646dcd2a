import { hash } from 'node:crypto';
import type { PolicyDecision } from '@countersign/policy';
import {
  digestOf as digestOfValue,
  higherRisk,
  type NetworkAccess,
  type Preview,
  type Sha256,
  type ShownCall,
  shownDigest,
} from '@countersign/protocol';
import type { FileVersion } from '../files/file-snapshot.ts';
import { ownRisk } from '../own-verdict.ts';

/** Node's SHA-256 is many times faster than the portable implementation. */
const nodeSha256: Sha256 = (text) => hash('sha256', text);

/** The input of the base of a call's digest (AP-8, docs/decisions/0005). */
export interface DigestedCall {
  readonly call: { readonly tool: string; readonly params: unknown };
  /** Absolute, links resolved. */
  readonly root: string;
  /** Workspace-relative, links resolved; `''` is the root. */
  readonly directory: string;
  readonly network: NetworkAccess;
  readonly files: readonly DigestedFile[];
  /** Further facts: commits, index and remote, an unsaved buffer, the definition of a custom tool. */
  readonly base: readonly string[];
}

export interface DigestedFile {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  readonly part: 'changed' | 'copied' | 'run' | 'directory';
  readonly version: FileVersion;
  /** Set only for `copied`, because the copy gets the same mode. */
  readonly mode?: number;
}

/**
 * Returns the base of a call's digest: the protocol's digest of
 *
 * - the format number of this digest (1), the tool and its parameters with defaults filled in;
 * - the workspace root, the directory that the call runs in, and its network: none, any, or the hosts;
 * - the real path and version of each file that the call changes; for an editor's unsaved buffer (RN-9), also a marker
 *   and the version on disk;
 * - the original of a copied file, with its permission bits;
 * - each file that a command executes (operands with use `run`: the script, package.json for npm scripts);
 * - for commit and push, the commits, index, files and remote of their plan;
 * - for a custom tool, its server's description of the tool, and the server's entry in mcp.json.
 *
 * `shownView` adds what the card shows. The digest does not cover times, owners, files that are only read, or modules
 * that a script imports.
 */
export function digestOf({ call, root, directory, network, files, base }: DigestedCall): string {
  const ordered = files.toSorted((a, b) => compare(a.path, b.path) || compare(a.part, b.part));
  const { tool, params } = call;
  return digestOfValue({ form: 1, tool, params, root, directory, network, files: ordered, base }, nodeSha256);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** A call as the approval card shows it, with the digest that identifies it (AP-8). */
export interface ShownView extends ShownCall {
  readonly digest: string;
}

/**
 * Combines the server's request with this machine's own decision: the higher risk counts. The server combines them in the
 * same way, so that both compute the same digest.
 */
export function shownView(
  asked: Pick<ShownCall, 'tool_name' | 'tool_params' | 'risk_level'>,
  own: PolicyDecision,
  { preview, base }: { readonly preview: Preview; readonly base: string },
): ShownView {
  const { tool_name, tool_params } = asked;
  const risk_level = higherRisk(ownRisk(own), asked.risk_level);
  const shown = { digest_base: base, tool_name, tool_params, risk_level, preview };
  return { ...shown, digest: shownDigest(shown, nodeSha256) };
}
