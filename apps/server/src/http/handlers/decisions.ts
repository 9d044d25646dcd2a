import { notFound } from '@countersign/engine';
import type { Approval, routes } from '@countersign/protocol';
import type { AuthenticatedCaller } from '../../auth/authenticator.ts';
import { inProject } from '../own-rows.ts';
import type { Handlers, Input } from '../route-types.ts';
import type { ServerParts } from '../server-parts.ts';
import { speakerOf } from '../speaker.ts';

type ApproveBody = Input<(typeof routes)['approve']>['body'];

/** Approvals: listed, decided, previewed (AP). */
export function decisionHandlers(
  parts: ServerParts,
): Pick<Handlers, 'approve' | 'confirm' | 'reject' | 'submitPreview' | 'listApprovals' | 'getApproval'> {
  const { approvals } = parts.engine;

  /** One handler behind approve and confirm (RE-2). */
  const decide = async (caller: AuthenticatedCaller, approvalId: string, body: ApproveBody) => {
    const { decision: _said, ...input } = body;
    const { status, grantId, ruleId } = await approvals.approveTool(caller, approvalId, {
      ...input,
      device: body.device ?? caller.tokenName,
    });
    return {
      success: true as const,
      approval_id: approvalId,
      status,
      ...(grantId !== undefined && { grant_id: grantId }),
      ...(ruleId !== undefined && { rule_id: ruleId }),
    };
  };

  return {
    async approve({ caller, params, body }) {
      return decide(inProject(caller, params), params.approval_id, body);
    },

    confirm: ({ caller, params, body }) => decide(caller, params.approval_id, body),

    async reject({ caller, params, body }) {
      const { reason, message } = body;
      const { status } = await approvals.rejectTool(inProject(caller, params), params.approval_id, {
        reason,
        message,
        device: body.device ?? caller.tokenName,
      });
      return { success: true, approval_id: params.approval_id, status };
    },

    async submitPreview({ caller, params, body }) {
      const speaker = await speakerOf(parts, caller, params, body);
      const input = { ...body, ...speaker, runner_id: speaker.runner_id ?? body.runner_id };
      await approvals.submitPreview(inProject(caller, params), params.approval_id, input);
      return { success: true };
    },

    async listApprovals({ caller }) {
      return { success: true, approvals: (await approvals.getPendingApprovals(caller.userId)) as Approval[] };
    },

    async getApproval({ caller, params }) {
      const approval = (await approvals.approvalOf(caller, params.approval_id)) as Approval;
      // A runner looks at what it is to preview, or has previewed; the rest is between the person and the agent.
      if (caller.scope === 'runner' && approval.status !== 'pending' && approval.runner_id === null) {
        throw notFound('approval');
      }
      return { success: true, approval };
    },
  };
}
