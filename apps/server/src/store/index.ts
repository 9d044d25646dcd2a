export type { DatabaseStore } from './database-store.ts';
export { InProcessBus } from './in-process-bus.ts';
export { PostgresBus } from './postgres-bus.ts';
export { openPostgresStore } from './postgres-store.ts';
export { openSqliteStore } from './sqlite-store.ts';
export { StorageHealth } from './storage-health.ts';
