export { type Approval, approvalSchema } from './approval.ts';
export { digestSchema, idSchema, timestampSchema, toolParamsSchema } from './common.ts';
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
  type ErrorDefinition,
  errorCodes,
  lookAgainCodes,
  type Remedy,
} from './error-codes.ts';
export {
  CountersignError,
  describeError,
  type ErrorValues,
  errorCodeSchema,
  type ToolErrorValue,
  toolErrorSchema,
} from './errors.ts';
export {
  type CountersignEvent,
  type EventName,
  type EventPayload,
  eventNames,
  eventSchemas,
  eventsWithoutId,
  maxEventBytes,
  type ParsedEvent,
  parseEvent,
} from './events.ts';
export {
  type ApprovalStatus,
  type ApprovedBy,
  approvalStatuses,
  approvalStatusSchema,
  type ExecutionStatus,
  executionStatuses,
  executionStatusSchema,
  isFinal,
  isLegalTransition,
  legalTransitions,
} from './execution-status.ts';
export { type ApprovalScope, type Grant, grantSchema, type OfferedScope } from './grant.ts';
export { isManageable, type JsonValue, jsonValueSchema, maxParamValues } from './json-value.ts';
export {
  defaultLimits,
  type LimitSettingName,
  type LimitSettings,
  type Limits,
  limitSettingNames,
  limitSettingOf,
  limitSettings,
  limitsLoweredBy,
  limitsOfOperator,
  lowerLimits,
  toldLimits,
} from './limits.ts';
export { type Message, messageSchema } from './messages.ts';
export {
  type ModelResult,
  modelResultSchema,
  type ToolOutcome,
  toModelResult,
  toolOutcomeSchema,
} from './outcome.ts';
export { outsideAgentInstructions } from './outside-agents.ts';
export { type PolicyFile, type PolicyRule, policyFileSchema, policyRuleSchema } from './policy-file.ts';
export { leavesItToParameters, type Preview, previewSchema } from './preview.ts';
export { maxRefusalText } from './rest/decisions.ts';
export { errorBodySchema } from './rest/error-body.ts';
export { type Execution, executionSchema, type LateResult } from './rest/executions.ts';
export type { TokenScope } from './rest/permissions.ts';
export {
  type ParsedBody,
  type RequestBody,
  type ResponseBody,
  type Route,
  type RouteName,
  routes,
} from './rest/routes.ts';
export {
  approvalTimeoutSeconds,
  boundedReasons,
  higherRisk,
  type Reason,
  type RiskLevel,
  reasonSchema,
  riskLevelSchema,
  riskLevels,
} from './risk.ts';
export { type RunnerCapability, runnerCapabilities } from './runner-capabilities.ts';
export { describeIssues } from './schema-issues.ts';
export { timing } from './timing.ts';
export {
  type AvailableTool,
  availableToolSchema,
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
  customToolSchema,
  describeCall,
  describeCustomTool,
  findTool,
  gitCommandsPattern,
  intentOf,
  isCustomCall,
  isCustomToolName,
  type ParsedCall,
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
  type ToolCategory,
  type ToolDefinition,
  toolFailureSchema,
} from './tools/definition.ts';
export {
  callFromLine,
  callFromWords,
  splitLine,
  type TypedCall,
  type TypedCallOptions,
} from './typed-call.ts';
export { makeVisible, visibleLine } from './visible-text.ts';
