export { InProcessBus } from './in-process-bus.ts';
export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from './sqlite-store.ts';
