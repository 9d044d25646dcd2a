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
export { defaultLimits, type Limits, lowerLimits } from './limits.ts';
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
