import type { ApprovalRequest } from '@countersign/approvals';

/** What a person has looked at: the version of a request that its card showed. */
export const seenKey = ({ revision, digest, risk_level }: ApprovalRequest): string =>
  `${revision} ${digest} ${risk_level}`;
