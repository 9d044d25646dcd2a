export type { CallExecution, ToolExecutionResult } from './call-execution.ts';
export { type Ceiling, readCeiling } from './call-permission.ts';
export type { JobPort } from './commands/background-jobs.ts';
export type { ServerStatus } from './custom/tool-server.ts';
export { type ServerQuestion, ToolServerList } from './custom/tool-server-list.ts';
export type { ExecutionHistoryEntry } from './execution-history.ts';
export { ripgrepOfEditor } from './files/ripgrep-program.ts';
export {
  type HandlerSettings,
  handlerSettingNames,
  requireHandlerSettings,
  settingsInForce,
  settingValue,
} from './handler-settings.ts';
export { inspectIsolation } from './isolation/isolation-probe.ts';
export { checkShownFolders } from './isolation/shown-folders.ts';
export { editorWaitingFor } from './journal/journal.ts';
export { JournalHeld } from './journal/journal-lock.ts';
export type { Effect } from './layers/effect.ts';
export type { Logger, LogLevel } from './logger.ts';
export type { LanguageFeatures } from './lsp/editor-language.ts';
export { findServer } from './lsp/server-definition.ts';
export type { ApprovalDialogProvider, DialogAnswer, OpenApproval } from './open-approval.ts';
export type { OpenDocuments } from './open-documents.ts';
export { openInside } from './open-inside.ts';
export { type PersonsFolders, personsFolders, workspaceAt } from './open-workspace.ts';
export { PersonsPolicyFile, type PolicyFileReading } from './policy-file.ts';
export { connectToJob, listJobPorts } from './ports/runner-visitor.ts';
export { visibleName } from './preview/look.ts';
export { addPrograms } from './programs/add-programs.ts';
export { findProgramOffers, type ProgramOffer } from './programs/program-offers.ts';
export { realDisk } from './real-disk.ts';
export type {
  ApprovalRequest,
  Claim,
  DecisionAnswer,
  Heartbeat,
  ResultReport,
  RunnerApi,
} from './runner-api.ts';
export {
  ConcurrencyLimitError,
  ExecutionCancelled,
  RefusedByServer,
  ToolApprovalTimeout,
  ToolTypeError,
} from './runner-errors.ts';
export { runnerIdOf, runnerInstanceOf } from './runner-id.ts';
export { readRunnerSettings } from './runner-settings.ts';
export { ToolHandler } from './tool-handler.ts';
export type { ToolHandlerConfig } from './tool-handler-config.ts';
export type { ProposedText } from './tool-module.ts';
export { landTried, undoHere } from './trial/ask-here.ts';
export { EffectDiffs } from './trial/effect-diffs.ts';
export type { UndoneCall } from './trial/requests-here.ts';
export {
  defaultTrialLimits,
  Trial,
  type TrialEffects,
  type TrialEnding,
  type TrialLimits,
  type TrialRun,
} from './trial/trial.ts';
export type { Workspace } from './workspace.ts';
export { WorkspaceRunner, type WorkspaceRunnerOptions } from './workspace-runner.ts';
