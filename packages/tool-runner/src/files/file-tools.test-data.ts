import {
  type BuiltInToolCall,
  type BuiltInToolName,
  CountersignError,
  defaultLimits,
  parseToolCall,
} from '@countersign/protocol';
import { BuiltInTools } from '../built-in-tools.ts';
import type { CallContext } from '../executor.ts';
import type { FileServices } from '../tool-module.ts';
import type { Workspace } from '../workspace.ts';
import type { FileChange } from './file-snapshot.ts';
import { ResultCache, type ResultCacheOptions } from './result-cache.ts';

/** A workspace as tests of the file tools need it. */
export const workspaceAt = (root: string, limits = defaultLimits): Workspace => ({
  root,
  stateFolder: `${root}-state`,
  limits,
  home: '/home/person',
  addedEnvironment: [],
});

/** The file tools in one workspace. */
export const fileTools = (
  workspace: Workspace,
  { liftedSensitivePaths, ...options }: ResultCacheOptions & Partial<FileServices> = {},
): BuiltInTools =>
  new BuiltInTools({
    filesystem: {
      workspace,
      cache: new ResultCache(options),
      ...(liftedSensitivePaths && { liftedSensitivePaths }),
    },
  });

/** Executes one call of a file tool. */
export const executeChange = (call: BuiltInToolCall, context: CallContext, workspace: Workspace) =>
  fileTools(workspace).execute(call, context);

/** A call as it comes out of the catalogue, defaults filled in. */
export function callOf<T extends BuiltInToolName>(
  tool: T,
  params: Record<string, unknown>,
): Extract<BuiltInToolCall, { tool: T }> {
  const parsed = parseToolCall(tool, params);
  if (!parsed.ok) throw new Error(parsed.error.message);
  return parsed.call as Extract<BuiltInToolCall, { tool: T }>;
}

/** A context whose journal only remembers what it was told. `onBegin` runs where the journal would be flushed. */
export function recordingContext({
  onBegin = () => {},
  digest,
  signal = new AbortController().signal,
  toolId = 'tool-1',
}: {
  onBegin?: () => void;
  digest?: string;
  signal?: AbortSignal;
  toolId?: string;
} = {}): CallContext & { readonly begun: (readonly FileChange[])[] } {
  const begun: (readonly FileChange[])[] = [];
  return {
    begun,
    toolId,
    attempt: 1,
    sessionId: 'session-1',
    riskLevel: 'MEDIUM',
    network: false,
    signal,
    ...(digest !== undefined && { digest }),
    onProgress: () => {},
    changes: {
      begin: (changes) => {
        begun.push(changes);
        onBegin();
      },
    },
  };
}

/** The error code of an action that fails, or the result of one that succeeds. */
export async function codeOf(action: () => unknown): Promise<unknown> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof CountersignError) return error.code;
    throw error;
  }
}
