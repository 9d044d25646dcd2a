export {
  type Approval,
  type ApprovalScope,
  approvalSchema,
  approvalScopeSchema,
  approveBodySchema,
  decidedBySchema,
  decisionResponseSchema,
  previewBodySchema,
  rejectBodySchema,
} from './approval.ts';
export { digestSchema, idSchema, timestampSchema, toolParamsSchema } from './common.ts';
export {
  CountersignError,
  describeError,
  type ErrorCode,
  type ErrorDefinition,
  errorCodeSchema,
  errorCodes,
  type ToolErrorValue,
  toolErrorSchema,
} from './error-codes.ts';
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
  approvedBySchema,
  type ExecutionStatus,
  executionStatuses,
  executionStatusSchema,
  isFinal,
  isLegalTransition,
  legalTransitions,
} from './execution-status.ts';
export { defaultLimits, type Limits, lowerLimits } from './limits.ts';
export { agentStateSchema, type Message, messageSchema } from './messages.ts';
export {
  type ModelResult,
  modelResultSchema,
  type ToolOutcome,
  toModelResult,
  toolOutcomeSchema,
} from './outcome.ts';
export { type PolicyFile, type PolicyRule, policyFileSchema, policyRuleSchema } from './policy-file.ts';
export { fileDiffSchema, type Preview, previewSchema } from './preview.ts';
export { type Execution, errorBodySchema, executionSchema } from './rest/execution.ts';
export {
  type Grant,
  grantSchema,
  type TokenScope,
  tokenScopeSchema,
  tokenScopes,
} from './rest/permissions.ts';
export { type Route, type RouteName, routes } from './rest/routes.ts';
export {
  type Assessment,
  approvalTimeoutSeconds,
  assessmentSchema,
  higherRisk,
  type Reason,
  type RiskLevel,
  reasonSchema,
  riskLevelSchema,
  riskLevels,
} from './risk.ts';
export {
  type AvailableTool,
  availableToolSchema,
  type BuiltInToolCall,
  type BuiltInToolName,
  builtInToolNames,
  catalogue,
  describeIssues,
  describeTool,
  findTool,
  isCustomToolName,
  type ParsedCall,
  parametersJsonSchema,
  parseToolCall,
  resultSchemaOf,
  type ToolParams,
  type ToolSuccess,
} from './tools/catalogue.ts';
export {
  type ChangedFile,
  type ToolCategory,
  type ToolDefinition,
  type ToolFailure,
  toolFailureSchema,
} from './tools/definition.ts';
