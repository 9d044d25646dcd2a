export {
  type AuditFormat,
  type AuditVerdict,
  auditedUsers,
  exportAudit,
  openAuditSource,
  verifyAudit,
} from './audit-log.ts';
export { InProcessBus } from './in-process-bus.ts';
export { PostgresBus } from './postgres-bus.ts';
export { isConnectionLoss } from './postgres-failure.ts';
export { openPostgresStore } from './postgres-store.ts';
export type { DatabaseStore } from './retention.ts';
export { openSqliteStore, type SqliteStore } from './sqlite-store.ts';
export { StorageHealth } from './storage-health.ts';
