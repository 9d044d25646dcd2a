export { realDisk } from '@countersign/tool-runner';
export { type MemoryStoreOptions, memoryStore } from './memory-store.ts';
export {
  meetsExpectation,
  type SecurityCase,
  type SetupStep,
  securityCases,
  securityFolder,
} from './security-cases.ts';
export { startSwapping } from './swapped-path.ts';
export { type TemporaryWorkspace, temporaryWorkspace } from './temporary-workspace.ts';
