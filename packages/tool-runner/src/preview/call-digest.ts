import { hash } from 'node:crypto';
import {
  type BuiltInToolCall,
  digestOf as digestOfValue,
  type Sha256,
  type ToolCall,
} from '@countersign/protocol';
import type { FileVersion } from '../file-change.ts';
import type { PlannedDirectory } from '../files/plan-directory.ts';
import type { FileChangeCall, PlannedChange } from '../files/plan-file-change.ts';
import type { Workspace } from '../workspace.ts';

/** Node's own, which is many times faster than the portable one. */
export const nodeSha256: Sha256 = (text) => hash('sha256', text);

/** What the base of a call's digest covers: call, place and files (AP-8, docs/decisions/0005). */
export interface DigestedCall {
  readonly call: ToolCall;
  /** Absolute, links resolved. */
  readonly root: string;
  /** Workspace-relative, links resolved; `''` is the root. */
  readonly directory: string;
  readonly network: boolean;
  readonly files: readonly DigestedFile[];
  /** What the files alone do not say: commits, index and remote, an unsaved buffer, the definition of a custom tool. */
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
 * - for commit and push what GitPreviewer names: commits, index, files, remote;
 * - for a custom tool how its server describes it, and that server's entry.
 *
 * `shownDigest` of the protocol adds what the card shows. Nothing else is covered: not times, not owners, not files that are only read, not the modules that a script imports.
 */
export function digestOf({ call, root, directory, network, files, base }: DigestedCall): string {
  const ordered = files.toSorted((a, b) => compare(a.path, b.path) || compare(a.part, b.part));
  const { tool, params } = call;
  return digestOfValue({ form: 1, tool, params, root, directory, network, files: ordered, base }, nodeSha256);
}

/** The base of a call that changes one file: part of what is displayed, and what the executor compares with. */
export function digestOfChange(call: FileChangeCall, { root }: Workspace, plan: PlannedChange): string {
  const { path, before, source, saved } = plan;
  const files: DigestedFile[] = [{ path, part: 'changed', version: before?.version ?? null }];
  if (source) {
    const { version, mode } = source.snapshot;
    files.push({ path: source.path, part: 'copied', version, mode });
  }
  const base = saved ? ['unsaved buffer', saved.version] : [];
  return digestOf({ call, root, directory: '', network: false, files, base });
}

export function digestOfDirectory(
  call: BuiltInToolCall,
  { root }: Workspace,
  { path, exists }: PlannedDirectory,
): string {
  const files: DigestedFile[] = [{ path, part: 'directory', version: exists ? 'there' : null }];
  return digestOf({ call, root, directory: '', network: false, files, base: [] });
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
