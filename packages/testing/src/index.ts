export { realDisk } from '@countersign/tool-runner';
export {
  meetsExpectation,
  type SecurityCase,
  type SetupStep,
  securityCases,
  securityFolder,
} from './security-cases.ts';
export { startSwapping } from './swapped-path.ts';
export { type TemporaryWorkspace, temporaryWorkspace } from './temporary-workspace.ts';
