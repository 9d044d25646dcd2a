export type { RunObserver } from './agent/agent-loop.ts';
export {
  AgentRuns,
  type AgentRunsDeps,
} from './agent/agent-runs.ts';
export { manualModel } from './agent/manual-model.ts';
export { messageView } from './agent/message-events.ts';
export {
  type Model,
  ModelError,
  type ModelMessage,
  type ModelPart,
  type ModelRequest,
  type Models,
  UnparsableParams,
} from './agent/model.ts';
export { availableTools, type OfferedTool } from './agent/offered-tools.ts';
export type { RunBudget } from './agent/run-budget.ts';
export type { ApproveInput } from './approve/approval-decisions.ts';
export { ApprovalManager, type DecisionAnswer } from './approve/approval-manager.ts';
export type { PreviewInput } from './approve/approval-requests.ts';
export type { Caller } from './caller.ts';
export type { ClaimInput } from './claim/claims.ts';
export { type NamedRunner, notItsRunner, RunnerBindings } from './claim/runner-bindings.ts';
export { type Clock, systemClock } from './clock.ts';
export { digestOf } from './digests.ts';
export { rememberTold, runnerKey } from './dispatch/runner-facts.ts';
export { Engine } from './engine.ts';
export {
  commitMoments,
  type FaultPoint,
  type FaultPoints,
  labelledCommits,
  runPoints,
} from './fault-points.ts';
export { newId } from './ids.ts';
export {
  type Announced,
  auditGenesis,
  auditHash,
  auditHeadText,
  numberAnnounced,
} from './record/announced.ts';
export { errorOf, predicateOf } from './record/call-events.ts';
export type { CallRequest } from './record/call-request.ts';
export { announceCall, type EventData, isoTime, makeEvent, type ServerEvent } from './record/make-event.ts';
export { largestShown } from './record/shown-size.ts';
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
  type GrantRow,
  type Json,
  type JsonObject,
  type MessageRow,
  type NodeRow,
  type PayloadRow,
  type PolicyRow,
  type ProjectRow,
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
export type { ResultInput } from './settle/settlements.ts';
export {
  type Announcement,
  approvalsAtOnce,
  type Bus,
  DuplicateRow,
  type Hint,
  type HistoryFilter,
  type MetricsFilter,
  type MetricsPoint,
  type PendingRequest,
  type Reading,
  type ShownApproval,
  StorageFull,
  type Store,
  type ToolMetricsRow,
  type Transaction,
  type Unit,
} from './store.ts';
export { type EncodedRequest, endOfRequest } from './streams/pending-requests.ts';
export type { StreamSink } from './streams/stream-manager.ts';
export { ToolExecutor } from './tool-executor.ts';
