import type { PolicyDecision } from '@countersign/policy';
import type { Preview, ToolCall } from '@countersign/protocol';
import type { RunnerClock } from './clock.ts';
import type { Executor } from './executor.ts';
import type { HandlerSettings } from './handler-settings.ts';
import type { Journal } from './journal/journal.ts';
import type { LanguageFeatures } from './lsp/editor-language.ts';
import type { ApprovalRequest } from './runner-api.ts';
import type { Workspace } from './workspace.ts';

/** Makes the preview of a call and the base of its digest (AP-7, AP-8). */
export interface CallPreviews {
  preview(call: ToolCall, decision: PolicyDecision): Promise<{ preview: Preview; base: string }>;
  /** The same base without the preview, for a call that needs no card. */
  base(call: ToolCall, decision: PolicyDecision): Promise<string>;
}

/**
 * Everything is optional. By default the real parts are used, in the current working directory. The settings (RN-1) can
 * only lower the values of `runner.json` or these defaults: commandTimeoutMs 300000, commandTimeoutDefaultMs 30000,
 * fileSizeMaxBytes 100 MiB, concurrencyLimit 3, approvalTimeoutMs 300000 (for requests without a timeout), enableCaching
 * true and cacheTtlMs 60000 (of read_file, EX-9). An invalid setting throws USAGE with its name.
 */
export interface ToolHandlerConfig extends HandlerSettings {
  readonly workspace?: Workspace;
  /** The person's folder with `policy.json`, `ceiling.json`, `runner.json` and `mcp.json`; never in the workspace. */
  readonly configFolder?: string;
  readonly executors?: readonly Executor[];
  readonly previews?: CallPreviews;
  /** The caller closes it. */
  readonly journal?: Journal;
  /** The operator allows LOW commands to run without asking even if nothing isolates them (RN-5). */
  readonly runUnisolated?: boolean;
  /** Whether commands run isolated; detected by default. */
  readonly isIsolated?: boolean;
  /** `host:port` addresses that commands with network must not reach: the server's (AP-9). */
  readonly refusedHosts?: readonly string[];
  /**
   * Whether this runner would execute the requested call; by default always true. If so, this machine draws the card
   * itself. Only decisions on such a card count as made here (RN-2).
   */
  readonly executes?: (request: ApprovalRequest) => boolean;
  readonly clock?: RunnerClock;
  /** Secrets that must not be logged, such as the runner's own token. */
  readonly secrets?: readonly string[];
  /** Language features of the editor that contains this runner, used by the language tools (RN-7). */
  readonly languageFeatures?: LanguageFeatures;
  /** This program's name, shown to another program that wants the journal (RN-10). */
  readonly program?: string;
  /** True for an editor's runner: it asks another runner to release the workspace when that is idle (RN-10). */
  readonly takesOver?: boolean;
}
