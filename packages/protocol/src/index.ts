export { type Approval, approvalSchema } from './approval.ts';
export { idSchema, toolParamsSchema } from './common.ts';
export {
  type CheckedCard,
  canonicalJson,
  checkedCard,
  checkShown,
  digestOf,
  type Sha256,
  type ShownCall,
  shownDigest,
} from './digest.ts';
export {
  type ErrorCode,
  errorCodes,
  lookAgainCodes,
} from './error-codes.ts';
export {
  CountersignError,
  describeError,
  errorCodeSchema,
  messageOf,
  type ToolErrorValue,
} from './errors.ts';
export {
  type CountersignEvent,
  type EventName,
  type EventPayload,
  eventNames,
  eventSchemas,
  maxEventBytes,
  parseEvent,
} from './events.ts';
export {
  type ApprovalStatus,
  type ApprovedBy,
  type ExecutionStatus,
  executionStatuses,
  isFinal,
  isLegalTransition,
} from './execution-status.ts';
export { fenced } from './fenced.ts';
export type { ApprovalScope, Grant, GrantScope, OfferedScope } from './grant.ts';
export {
  isWithinJsonLimits,
  type JsonValue,
  jsonValueSchema,
  maxParamValues,
  parseJson,
} from './json-value.ts';
export {
  defaultLimits,
  type LimitSettingName,
  type Limits,
  limitSettingNames,
  limitSettingOf,
  limitSettings,
  limitsLoweredBy,
  limitsOfOperator,
  lowerLimits,
  sentLimits,
  undoStoreBytes,
} from './limits.ts';
export { type Message, maxQueuedMessages, type QueuedMessage } from './messages.ts';
export { hostAndPort, type NetworkAccess, namesHost, readNetworkHost } from './network-host.ts';
export {
  isShortened,
  leftOutBase64,
  leftOutText,
  type ModelResult,
  readModelResult,
  type ToolOutcome,
  toModelResult,
} from './outcome.ts';
export { outsideAgentInstructions } from './outside-agents.ts';
export {
  areSameRules,
  isMachineRule,
  type MachinePolicy,
  machineRuleId,
  type PolicyFile,
  type PolicyRule,
  policyFileSchema,
  policyRuleSchema,
  ruleWithoutExamples,
  withoutExamples,
} from './policy-file.ts';
export { mustShowParameters, type Preview, previewSchema, type Trial, trialSchema } from './preview.ts';
export { maxRefusalText } from './rest/decisions.ts';
export { errorBodySchema } from './rest/error-body.ts';
export type { CallDecision, Execution, LateResult } from './rest/executions.ts';
export { isLiveToken, type TokenScope } from './rest/permissions.ts';
export { type ChangedFile, maxUndoneAtOnce, type RestoredFile } from './rest/rewind.ts';
export {
  type ParsedBody,
  type RequestBody,
  type ResponseBody,
  type Route,
  type RouteName,
  routes,
} from './rest/routes.ts';
export type { RunChange } from './rest/runner.ts';
export {
  approvalTimeoutSeconds,
  boundedReasons,
  higherRisk,
  isAbove,
  type Reason,
  type RiskLevel,
  riskLevelSchema,
  riskLevels,
} from './risk.ts';
export { type RunnerCapability, runnerCapabilities } from './runner-capabilities.ts';
export { describeIssues } from './schema-issues.ts';
export { type Session, type SessionMode, sessionModes } from './session.ts';
export { piecesOf } from './text-pieces.ts';
export { timing } from './timing.ts';
export { tokenDevice, tokenOfDevice } from './token-device.ts';
export {
  type AvailableTool,
  describeTool,
  parametersJsonSchema,
} from './tools/available-tool.ts';
export {
  type BuiltInToolCall,
  type BuiltInToolName,
  builtInToolNames,
  type CustomTool,
  type CustomToolCall,
  type CustomToolName,
  catalogue,
  changingToolsPattern,
  commandToolsPattern,
  customToolSchema,
  describeCall,
  describeCustomTool,
  findTool,
  gitCommandsPattern,
  intentOf,
  isCustomCall,
  isCustomToolName,
  parseToolCall,
  resultSchemaOf,
  type ToolCall,
  type ToolCategoryOf,
  type ToolParams,
  type ToolSuccess,
  waitsForCommand,
} from './tools/catalogue.ts';
export {
  customCategorySchema,
  type ToolDefinition,
} from './tools/definition.ts';
export {
  callFromLine,
  callFromWords,
  splitLine,
  type TypedCall,
} from './typed-call.ts';
export { makeVisible, visibleLine } from './visible-text.ts';
