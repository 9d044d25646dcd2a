export { realDisk } from '@countersign/tool-runner';
export { AgentFixture, type AgentFixtureOptions, type AgentNode } from './agent-fixture.ts';
export { type CrashableStore, crashableStore } from './crashable-store.ts';
export { codeOf, digest, EngineFixture, Listener, testProject } from './engine-fixture.ts';
export { LocalBus } from './local-bus.ts';
export { ManualClock, settle } from './manual-clock.ts';
export {
  type OpenAiCompatibleServer,
  openAiCompatibleServer,
  type WireRequest,
  type WireStep,
  type WireTurn,
} from './openai-compatible-server.ts';
export { readingContext, runnerWorkspace } from './runner-workspace.ts';
export { hangs, ScriptedModel, type ScriptedPart, type ScriptedTurn, toolCall } from './scripted-model.ts';
export { type ScriptedDecision, ScriptedRunner, type ScriptedTool } from './scripted-runner.ts';
export {
  meetsExpectation,
  type SecurityCase,
  type SetupStep,
  securityCases,
  securityFolder,
} from './security-cases.ts';
export {
  approvalRow,
  executionRow,
  fileChangeRow,
  grantRow,
  messageRow,
  oneRowOfEach,
  payloadRow,
  policyRow,
  projectRow,
  queuedMessageRow,
  resultRow,
  runnerRow,
  runRow,
  sessionRow,
  tokenRow,
} from './stored-rows.ts';
export { startSwapping, startSwappingLink } from './swapped-path.ts';
export { type TemporaryPostgres, temporaryPostgres } from './temporary-postgres.ts';
export { type TemporaryWorkspace, temporaryWorkspace } from './temporary-workspace.ts';
