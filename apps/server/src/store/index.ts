export {
  type AuditFormat,
  type AuditVerdict,
  auditedUsers,
  exportAudit,
  verifyAudit,
} from './audit-log.ts';
export type { DatabaseStore } from './database-store.ts';
export { InProcessBus } from './in-process-bus.ts';
export { PostgresBus, type PostgresBusOptions } from './postgres-bus.ts';
export { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from './postgres-store.ts';
export type { RetentionLimits, Swept } from './retention.ts';
export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from './sqlite-store.ts';
