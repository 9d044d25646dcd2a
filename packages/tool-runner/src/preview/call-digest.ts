import { hash } from 'node:crypto';
import type { BuiltInToolCall, ToolCall } from '@countersign/protocol';
import type { FileVersion } from '../file-change.ts';
import type { PlannedDirectory } from '../files/plan-directory.ts';
import type { FileChangeCall, PlannedChange } from '../files/plan-file-change.ts';
import type { Workspace } from '../workspace.ts';

/** Everything about a call that the person agrees to when they approve it (AP-8, docs/decisions/0005). */
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
 * The digest of a call: `sha256:` over the canonical JSON of
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
 * Nothing else: not times, not owners, not files that are only read, not the modules that a script imports.
 */
export function digestOf({ call, root, directory, network, files, base }: DigestedCall): string {
  const ordered = files.toSorted((a, b) => compare(a.path, b.path) || compare(a.part, b.part));
  const { tool, params } = call;
  return `sha256:${hash('sha256', canonicalJson({ form: 1, tool, params, root, directory, network, files: ordered, base }))}`;
}

/** The digest of a call that changes one file: the one that is displayed, and that the executor compares with. */
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

/** JSON with the keys of every object in order, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => compare(a, b)))
      : item,
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
