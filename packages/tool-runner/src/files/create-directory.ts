import { CountersignError, type ToolSuccess } from '@countersign/protocol';
import { digestOf } from '../preview/call-digest.ts';
import { confirmJudged, visibleName } from '../preview/look.ts';
import { failedWith, fileFailure } from '../real-disk.ts';
import type { CallOf, ToolModule } from '../tool-module.ts';
import type { Workspace } from '../workspace.ts';
import { confirmApproved, removeCreated, stopIfCancelled } from './change-files.ts';
import { DIRECTORY, identityNow } from './file-snapshot.ts';
import { findPlace, openOrCreateDirectory, realDirectory } from './workspace-directory.ts';

/** Executes in the order of RN-3, like the tools in change-files.ts. */
export const createDirectory: ToolModule<'create_directory'> = {
  look(call, decision, { workspace }) {
    const plan = planDirectory(workspace, call.params.path);
    confirmJudged(decision, [plan.path]);
    return {
      digest: digestOfDirectory(call, workspace, plan),
      draw: () => ({ kind: 'directory', path: visibleName(plan.path || '.') }),
    };
  },
  async execute(call, context, { workspace }) {
    const plan = planDirectory(workspace, call.params.path);
    confirmApproved(context, () => digestOfDirectory(call, workspace, plan));
    stopIfCancelled(context);
    const made = {
      operation: 'created',
      before: null,
      after: DIRECTORY,
      original: undefined,
      contentAfter: null,
    } as const;
    context.changes.begin(plan.missing.map((path) => ({ path, ...made })));
    const created: string[] = [];
    try {
      openOrCreateDirectory(workspace.root, plan.path, created).directory.close();
    } catch (error) {
      removeCreated(workspace, created);
      throw fileFailure(error, plan.path, 'WRITE_FAILED');
    }
    return resultOf(plan.path, created);
  },
  recover: (changes) =>
    resultOf(
      changes.at(-1)?.path ?? '',
      changes.map(({ path }) => path),
    ),
};

const resultOf = (path: string, created: readonly string[]): ToolSuccess<'create_directory'> => ({
  success: true,
  path,
  changed_files: created.map((one) => ({ path: one, operation: 'created' })),
});

function digestOfDirectory(
  call: CallOf<'create_directory'>,
  { root }: Workspace,
  { path, exists }: PlannedDirectory,
): string {
  const files = [{ path, part: 'directory', version: exists ? 'there' : null }] as const;
  return digestOf({ call, root, directory: '', network: false, files, base: [] });
}

interface PlannedDirectory {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  readonly exists: boolean;
  /** The directories to create, outermost first. */
  readonly missing: readonly string[];
}

/** Throws FILE_EXISTS if the path is not a directory. */
function planDirectory({ root }: Workspace, asked: string): PlannedDirectory {
  try {
    return { path: realDirectory(root, asked), exists: true, missing: [] };
  } catch (error) {
    if (!failedWith(error, 'ENOENT', 'ENOTDIR')) throw fileFailure(error, asked, 'READ_FAILED');
  }
  try {
    const { directory, name, path } = findPlace(root, asked);
    const other = directory && identityNow(directory, name);
    directory?.close();
    if (other !== undefined) throw new CountersignError('FILE_EXISTS', { path });
    const parts = path.split('/');
    const all = parts.map((_, i) => parts.slice(0, i + 1).join('/'));
    return { path, exists: false, missing: all.filter((one) => !isThere(root, one)) };
  } catch (error) {
    throw fileFailure(error, asked, 'READ_FAILED');
  }
}

function isThere(root: string, path: string): boolean {
  try {
    realDirectory(root, path);
    return true;
  } catch (error) {
    if (failedWith(error, 'ENOENT')) return false;
    throw error;
  }
}
