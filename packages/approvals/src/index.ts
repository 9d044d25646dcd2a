export {
  type ApprovalEntries,
  type ApprovalEntry,
  type ApprovalRequest,
  oldestFirst,
  pendingOf,
  type Resolution,
  withCard,
} from './approval-entries.ts';
export { titleOf } from './approval-title.ts';
export { type ApprovalsServer, approvalsServer } from './approvals-server.ts';
export { Attention, askDeliberately, attentionMs, isSeenLongEnough, type Means } from './attention.ts';
export { callSummary } from './call-summary.ts';
export { type CalledTool, parameterLines, shellLineOf } from './called-tool.ts';
export {
  type ApproveChoice,
  answerOf,
  approvalOf,
  choiceOf,
  type DecisionAnswer,
  type Notice,
  type RejectChoice,
  rejectionOf,
  ruleOf,
  stepBeforeApproval,
} from './decision.ts';
export { KnownApprovals } from './known-approvals.ts';
export { Observable } from './observable.ts';
export { type PreviewWords, previewLines, type ViewLine } from './preview-lines.ts';
export { reasonText } from './reasons.ts';
export { scopeLabel } from './scope-label.ts';
export { type DiffLine, parseUnifiedDiff } from './unified-diff.ts';
