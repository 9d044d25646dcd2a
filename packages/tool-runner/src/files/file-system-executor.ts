import {
  type BuiltInToolCall,
  type BuiltInToolName,
  CountersignError,
  type ToolParams,
} from '@countersign/protocol';
import type { CallContext, Executor, ToolResult } from '../executor.ts';
import { unsavedTexts } from '../open-documents.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import { BytesDone, tellProgress } from '../work-progress.ts';
import type { Workspace } from '../workspace.ts';
import { executeChange } from './change-executor.ts';
import { sortByPath } from './file-entry.ts';
import { fileFailure } from './file-failure.ts';
import { listEntries } from './list-directory.ts';
import { readFile } from './read-file.ts';
import { ResultCache, type ResultCacheOptions } from './result-cache.ts';
import { type FoundFile, findFiles } from './search-files.ts';
import { refuseSensitive } from './sensitive-target.ts';
import { VisibleEntries } from './visible-entries.ts';
import { openDirectory, type WorkspaceDirectory } from './workspace-directory.ts';

export interface FileSystemExecutorOptions extends ResultCacheOptions {
  /** Workspace-relative paths that the person's own policy file lifts from VA-2; asked at each call. */
  readonly liftedSensitivePaths?: () => ReadonlySet<string>;
}

/**
 * The eight file tools (TL-1, RN-3) in one workspace: reading, listing and searching here, what changes files in
 * `executeChange`. The policy has been asked before; but it looked at names, and what they lead to is looked at again
 * when it is open (VA-1, VA-2).
 */
export class FileSystemExecutor implements Executor {
  readonly tools: readonly BuiltInToolName[] = [
    'read_file',
    'list_directory',
    'search_files',
    'write_file',
    'edit_file',
    'copy_file',
    'delete_file',
    'create_directory',
  ];
  readonly #workspace: Workspace;
  readonly #cache: ResultCache;
  readonly #liftedSensitivePaths: () => ReadonlySet<string>;
  readonly #disposed = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(workspace: Workspace, options: FileSystemExecutorOptions = {}) {
    this.#workspace = workspace;
    this.#cache = new ResultCache(options);
    this.#liftedSensitivePaths = options.liftedSensitivePaths ?? (() => new Set());
  }

  async execute(call: BuiltInToolCall, context: CallContext): Promise<ToolResult> {
    const signal = AbortSignal.any([context.signal, this.#disposed.signal]);
    if (signal.aborted) throw new ExecutionCancelled();
    const running = this.#dispatch(call, { ...context, signal });
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async dispose(): Promise<void> {
    this.#disposed.abort();
    await Promise.allSettled(this.#running);
    this.#cache.clear();
  }

  async #dispatch(call: BuiltInToolCall, context: CallContext): Promise<ToolResult> {
    switch (call.tool) {
      case 'read_file': {
        const read = new BytesDone('read');
        const describe = () =>
          read.isBegun ? { percent: Math.floor(100 * read.part), message: read.message } : undefined;
        const reading = {
          workspace: this.#workspace,
          liftedSensitivePaths: this.#liftedSensitivePaths(),
          cache: this.#cache,
          signal: context.signal,
          onRead: read.note,
        };
        return tellProgress({ report: context.onProgress, describe }, () => readFile(call.params, reading));
      }
      case 'list_directory':
        return this.#list(call.params, context);
      case 'search_files':
        return this.#search(call.params, context);
      case 'write_file':
      case 'edit_file':
      case 'copy_file':
      case 'delete_file':
      case 'create_directory':
        return executeChange(call, context, this.#workspace);
      default:
        throw new CountersignError('UNKNOWN_TOOL', { tool: call.tool, known: this.tools.join(', ') });
    }
  }

  /** Sorted by path when all fit; otherwise the first that the disk gave. */
  async #list({ path, recursive, pattern }: ToolParams<'list_directory'>, context: CallContext) {
    const { root, limits } = this.#workspace;
    const { signal, onProgress: report } = context;
    const visible = new VisibleEntries(pattern);
    const limit = limits.entries;
    const count = { visited: 0, found: 0 };
    const describe = () => ({ message: `${count.visited} entries looked at, ${count.found} found` });
    return this.#in(path, (directory) =>
      tellProgress({ report, describe }, async () =>
        asResult(await listEntries({ directory, root, recursive, visible, limit, signal, count })),
      ),
    );
  }

  /** Sorted by path; which files they are, when not all fit, is chance. */
  async #search({ path = '.', pattern = '*', content }: ToolParams<'search_files'>, context: CallContext) {
    const { root, limits, ripgrep } = this.#workspace;
    const { signal, onProgress: report } = context;
    const visible = new VisibleEntries(pattern);
    const unsaved = unsavedTexts(this.#workspace);
    const count = { found: 0 };
    const describe = () => ({ message: `${count.found} files found so far` });
    const search = { root, visible, content, limits, signal, unsaved, ripgrep, count };
    return this.#in(path, (directory) =>
      tellProgress({ report, describe }, async () => asResult(await findFiles({ ...search, directory }))),
    );
  }

  /** Opens a directory for as long as something is done in it. */
  async #in(
    path: string,
    work: (directory: { path: string; reach: string }) => Promise<ToolResult>,
  ): Promise<ToolResult> {
    let directory: WorkspaceDirectory | undefined;
    try {
      directory = openDirectory(this.#workspace.root, path);
      refuseSensitive(directory.path, path);
      return await work({ path: directory.path, reach: directory.at('.') });
    } catch (error) {
      throw fileFailure(error, path, 'READ_FAILED');
    } finally {
      directory?.close();
    }
  }
}

function asResult({ files, truncated }: { files: FoundFile[]; truncated: boolean }): ToolResult {
  return { success: true, files: sortByPath(files), total_count: files.length, truncated };
}
