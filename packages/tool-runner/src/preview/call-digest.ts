import { hash } from 'node:crypto';
import type { PolicyDecision } from '@countersign/policy';
import {
  digestOf as digestOfValue,
  higherRisk,
  type Preview,
  type Sha256,
  type ShownCall,
  shownDigest,
} from '@countersign/protocol';
import type { FileVersion } from '../files/file-snapshot.ts';
import { ownRisk } from '../own-verdict.ts';

/** Node's own is many times faster than the portable one. */
const nodeSha256: Sha256 = (text) => hash('sha256', text);

/** What the base of a call's digest covers: call, place and files (AP-8, docs/decisions/0005). */
export interface DigestedCall {
  readonly call: { readonly tool: string; readonly params: unknown };
  /** Absolute, links resolved. */
  readonly root: string;
  /** Workspace-relative, links resolved; `''` is the root. */
  readonly directory: string;
  readonly network: boolean;
  readonly files: readonly DigestedFile[];
  /** Facts that the files alone do not tell: commits, index and remote, an unsaved buffer, the definition of a custom tool. */
  readonly base: readonly string[];
}

export interface DigestedFile {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  readonly part: 'changed' | 'copied' | 'run' | 'directory';
  /** Of its bytes; null where there is no file. */
  readonly version: FileVersion;
  /** Of a file that is copied: the copy gets it. */
  readonly mode?: number;
}

/**
 * The base of a call's digest: the protocol's digest of
 *
 * - the form of this digest (1), the tool and its parameters with defaults filled in;
 * - the workspace root, the directory that the call runs in, and whether it gets network;
 * - each file that it changes, by its real path and the version of its bytes, null where there is none; where an
 *   editor's unsaved buffer is the base (RN-9), that it is, and the version that the disk has;
 * - the file that a copy is made of, with its permission bits;
 * - each file that a command executes (operands with use `run`: the script, package.json for npm scripts);
 * - for commit and push what their plan names: commits, index, files, remote;
 * - for a custom tool how its server describes it, and that server's entry.
 *
 * `shownView` adds what the card shows. Nothing else is covered: not times, not owners, not files that are only read, not
 * the modules that a script imports.
 */
export function digestOf({ call, root, directory, network, files, base }: DigestedCall): string {
  const ordered = files.toSorted((a, b) => compare(a.path, b.path) || compare(a.part, b.part));
  const { tool, params } = call;
  return digestOfValue({ form: 1, tool, params, root, directory, network, files: ordered, base }, nodeSha256);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** A call as a card of any front end shows it, with the digest that names it (AP-8). */
export interface ShownView extends ShownCall {
  readonly digest: string;
}

/**
 * Joins what the server asks or signals with what this machine finds: the higher risk counts. The server joins them in the
 * same way, so that both have one digest.
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
