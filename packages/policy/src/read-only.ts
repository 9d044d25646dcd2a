import { findTool, isCustomCall } from '@countersign/protocol';
import type { PolicyDecision } from './tool-call-policy.ts';

/**
 * Whether a call changes nothing (AP-11): its tool is read-only, or this use of it is harmless by itself, whatever a rule
 * allows. That a custom tool says so itself is not enough.
 */
export function isReadOnly({ call, assessed }: PolicyDecision): boolean {
  if (!call || isCustomCall(call)) return false;
  const changes = findTool(call.tool)?.changes;
  return changes === 'nothing' || (assessed?.decision === 'LOW' && changes !== 'job');
}
