import type { ToolCall } from '@countersign/protocol';
import type { CallAssessment } from './call-assessment.ts';
import { type GrantedCall, type GrantPredicate, grantAsRule } from './grant.ts';

/** Whether one grant alone covers a whole call. */
export const grantCovers = (
  grant: GrantPredicate,
  call: ToolCall,
  assessment: CallAssessment,
  at: GrantedCall,
): boolean => grantAsRule(grant, assessment, at)?.matches(call, assessment) ?? false;
