export { auditGenesis, auditHash } from './audit-chain.ts';
export { type Clock, systemClock } from './clock.ts';
export type {
  ApprovalRow,
  AuditRow,
  ExecutionRow,
  GrantRow,
  Json,
  JsonObject,
  MessageRow,
  PayloadRow,
  PolicyRow,
  ProjectRow,
  RunnerRow,
  RunRow,
  SessionRow,
  StoredEvent,
  TableName,
  Tables,
  TokenRow,
} from './rows.ts';
export {
  type Announcement,
  type Bus,
  DuplicateRow,
  type Hint,
  type HistoryFilter,
  type Reading,
  type Store,
  type ToolMetricsRow,
  type Transaction,
  type Unit,
} from './store.ts';
