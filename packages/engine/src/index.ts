export type { ModelCallEnd, ModelCallPlace, RunEnd, RunObserver } from './agent/agent-loop.ts';
export {
  AgentRuns,
  type AgentRunsDeps,
} from './agent/agent-runs.ts';
export { branchSession, branchTitle } from './agent/branch.ts';
export { deleteSession } from './agent/delete-session.ts';
export { manualModel } from './agent/manual-model.ts';
export {
  changeQueuedMessage,
  queuedMessageView,
  removeQueuedMessage,
} from './agent/message-queue.ts';
export { messageView, type RunPlace } from './agent/messages.ts';
export {
  type Model,
  ModelError,
  type ModelMessage,
  type ModelPart,
  type ModelRequest,
  type Models,
  type OfferedTool,
  UnparsableParams,
} from './agent/model.ts';
export { previewRewind, rewindSession } from './agent/rewind.ts';
export type { KeptPolicyFile } from './approve/policy-file.ts';
export { sessionView } from './approve/session-modes.ts';
export { availableTools } from './approve/stored-policies.ts';
export { type NamedRunner, RunnerBindings, runnerTokenBound } from './claim/runner-bindings.ts';
export { runnerKey, storeRunnerReport } from './dispatch/runners.ts';
export { Engine } from './engine.ts';
export {
  commitMoments,
  type FaultPoint,
  type FaultPoints,
  labelledCommits,
  runPoints,
} from './fault-points.ts';
export { digestOf, newId } from './ids.ts';
export {
  type Announced,
  announceCall,
  auditGenesis,
  auditHash,
  auditHeadText,
  type EventData,
  isoTime,
  largestShown,
  makeEvent,
  numberAnnounced,
  type ServerEvent,
} from './record/announcements.ts';
export { errorOf, isNotStarted, predicateOf } from './record/call-events.ts';
export type { Caller, CallRequest } from './record/call-request.ts';
export { notFound, Refusal } from './refusal.ts';
export {
  type ApprovalRow,
  type AuditRow,
  type Column,
  type ColumnKind,
  type CounterRow,
  columnsOf,
  type Database,
  type ExecutionRow,
  type FileChangeRow,
  type FileChangeSummary,
  type GrantRow,
  type JsonObject,
  type MessageRow,
  type NodeRow,
  type PayloadRow,
  type PolicyRow,
  type ProjectRow,
  type QueuedMessageRow,
  type ResultRow,
  type RunnerBindingRow,
  type RunnerRow,
  type RunRow,
  type SessionRow,
  type ShownPayload,
  type StoredEvent,
  type TableName,
  type Tables,
  type TokenRow,
} from './rows.ts';
export type { ResultBody } from './settle/settlements.ts';
export {
  type Announcement,
  approvalsAtOnce,
  type Bus,
  type DecidedApproval,
  DuplicateRow,
  type Hint,
  type HistoryFilter,
  type MetricsFilter,
  type PendingRequest,
  type Reading,
  type RunnerChange,
  type ShownApproval,
  StorageFull,
  type Store,
  type Transaction,
  type Unit,
} from './store.ts';
export { type EncodedRequest, endOfRequest } from './streams/pending-requests.ts';
export type { StreamSink } from './streams/stream-manager.ts';
export { readRunChanges, undoRun } from './undo/run-changes.ts';
export { requestCallUndo, settleUndo } from './undo/undo-requests.ts';
export { type Clock, systemClock } from './waiting.ts';
