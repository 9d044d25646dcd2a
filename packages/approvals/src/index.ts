export {
  type AnsiColor,
  type StyledLine,
  type StyledText,
  styledLines,
  type TextStyle,
} from './ansi-text.ts';
export {
  type ApprovalEntries,
  type ApprovalEntry,
  type ApprovalRequest,
  oldestFirst,
  pendingOf,
  type Resolution,
} from './approval-entries.ts';
export { type ApprovalsServer, approvalsServer } from './approvals-server.ts';
export { Attention, askDeliberately, attentionMs, isSeenLongEnough } from './attention.ts';
export {
  type CallDecision,
  type CallState,
  callOutcome,
  callState,
  callTitle,
  decisionText,
  isBlocked,
  placeText,
  stateText,
} from './call-line.ts';
export { commandLine, commandWords } from './command-words.ts';
export { conversationMarkdown } from './conversation-markdown.ts';
export {
  type ApproveChoice,
  approvalOf,
  backtestOf,
  choiceOf,
  type DecisionAnswer,
  type Notice,
  patternsAt,
  patternsOf,
  type RejectChoice,
  rejectionOf,
  type ScopeChoice,
  scopeChoices,
  stepBeforeApproval,
} from './decision.ts';
export { KnownApprovals, projectsWithPreviews } from './known-approvals.ts';
export { Observable } from './observable.ts';
export {
  type CalledTool,
  factLines,
  networkText,
  parameterLines,
  previewLines,
  shellLineOf,
  trialLines,
  type ViewLine,
} from './preview-lines.ts';
export { callSummary, reasonText, scopeLabel, shownOperand, titleOf } from './request-sentences.ts';
export { landingNotes, plainText, resultLines, resultText, sizeText } from './result-lines.ts';
export {
  type FileLines,
  type Landing,
  type MatchedFile,
  type ResultView,
  resultView,
} from './result-view.ts';
export { type ReadShellPart, readShellLine, shellParts } from './shell-parts.ts';
export {
  approvalOfTrial,
  gitDataOf,
  isGitData,
  mayBeTried,
  type TrialFile,
  type TrialOutcome,
  trialOf,
  trialOutput,
  trialSummary,
  unlistedEffects,
  withoutDiff,
} from './trial-lines.ts';
export { type DiffLine, diffSides, parseUnifiedDiff } from './unified-diff.ts';
