import type { PolicyDecision } from '@countersign/policy';
import type { Preview, ToolCall } from '@countersign/protocol';
import type { RunnerClock } from './clock.ts';
import type { Executor } from './executor.ts';
import type { HandlerSettings } from './handler-settings.ts';
import type { Journal } from './journal/journal.ts';
import type { LanguageFeatures } from './lsp/editor-language.ts';
import type { ApprovalRequest } from './runner-api.ts';
import type { Workspace } from './workspace.ts';

/** What a card shows of a call and what its approval stands for (AP-7, AP-8). */
export interface CallPreviews {
  preview(call: ToolCall, decision: PolicyDecision): Promise<{ preview: Preview; base: string }>;
  /** The same base without drawing anything, for a call that nobody was shown. */
  base(call: ToolCall, decision: PolicyDecision): Promise<string>;
}

/**
 * Everything is optional: what is missing is the real thing, in the folder that the process stands in. The settings (RN-1)
 * lower what `runner.json` or the specification says: commandTimeoutMs 300000, commandTimeoutDefaultMs 30000,
 * fileSizeMaxBytes 100 MiB, concurrencyLimit 3, approvalTimeoutMs 300000 (where a request says nothing of its time),
 * enableCaching true and cacheTtlMs 60000 (of read_file, EX-9). A bad one is a USAGE error that names it.
 */
export interface ToolHandlerConfig extends HandlerSettings {
  readonly workspace?: Workspace;
  /** Of the person, never in the workspace: `policy.json`, `ceiling.json`, `runner.json` and `mcp.json`. */
  readonly configFolder?: string;
  readonly executors?: readonly Executor[];
  readonly previews?: CallPreviews;
  /** The caller closes it. */
  readonly journal?: Journal;
  /** The operator's decision: where nothing isolates commands, LOW ones run all the same instead of asking (RN-5). */
  readonly runUnisolated?: boolean;
  /** Whether commands run isolated; detected by default. */
  readonly isIsolated?: boolean;
  /** `host:port` of the server: commands that have network do not reach it (AP-9). */
  readonly refusedHosts?: readonly string[];
  /**
   * Whether this runner would execute what is asked about; by default every call. Then its card is drawn from what
   * this machine finds, and only such a decision counts as made here (RN-2).
   */
  readonly executes?: (request: ApprovalRequest) => boolean;
  readonly clock?: RunnerClock;
  /** Secrets that must not be logged, such as the runner's own token. */
  readonly secrets?: readonly string[];
  /** Of the editor that this runner is part of: they answer the language tools (RN-7). */
  readonly languageFeatures?: LanguageFeatures;
  /** This program's name, shown to another program that wants the journal (RN-10). */
  readonly program?: string;
  /** An editor's runner: another one is asked to let go of the workspace when it is idle (RN-10). */
  readonly takesOver?: boolean;
}
