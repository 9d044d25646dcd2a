export {
  type ApprovalEntries,
  type ApprovalEntry,
  type ApprovalRequest,
  oldestFirst,
  pendingOf,
  type Resolution,
  withCard,
} from './approval-entries.ts';
export { type ApprovalsServer, approvalsServer } from './approvals-server.ts';
export { Attention, askDeliberately, attentionMs, type InputDevice, isSeenLongEnough } from './attention.ts';
export {
  type ApproveChoice,
  approvalOf,
  choiceOf,
  type DecisionAnswer,
  decisionAnswer,
  type Notice,
  type RejectChoice,
  rejectionOf,
  ruleOf,
  stepBeforeApproval,
} from './decision.ts';
export { KnownApprovals, projectsWithPreviews } from './known-approvals.ts';
export { Observable } from './observable.ts';
export {
  type CalledTool,
  type PreviewWords,
  parameterLines,
  previewLines,
  shellLineOf,
  type ViewLine,
} from './preview-lines.ts';
export { callSummary, reasonText, scopeLabel, titleOf } from './request-sentences.ts';
export { type DiffLine, parseUnifiedDiff } from './unified-diff.ts';
