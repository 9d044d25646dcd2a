import { notFound, Refusal } from '@countersign/engine';
import { type Approval, type routes, tokenDevice } from '@countersign/protocol';
import type { AuthenticatedCaller } from '../../auth/authenticator.ts';
import { inProject, reportingRunner } from '../own-rows.ts';
import type { Handlers, Input } from '../route-types.ts';
import type { ServerParts } from '../server-parts.ts';

type ApproveBody = Input<(typeof routes)['approve']>['body'];
type RejectBody = Input<(typeof routes)['reject']>['body'];

/** Lists, decides and previews approvals (AP). */
export function decisionHandlers(parts: ServerParts) {
  const { approvals } = parts.engine;

  const approve = async (caller: AuthenticatedCaller, approvalId: string, body: ApproveBody) => {
    const device = body.device ?? tokenDevice(caller.tokenName);
    const decided = await approvals.approveTool(caller, approvalId, { ...body, device });
    return { success: true as const, approval_id: approvalId, ...decided };
  };

  const reject = async (caller: AuthenticatedCaller, approvalId: string, body: RejectBody) => {
    const device = body.device ?? tokenDevice(caller.tokenName);
    const decided = await approvals.rejectTool(caller, approvalId, { ...body, device });
    return { success: true as const, approval_id: approvalId, ...decided };
  };

  /** The tool id of an approval, if it is this person's. */
  const callOf = async ({ userId }: AuthenticatedCaller, approvalId: string): Promise<string | undefined> => {
    const row = await parts.store.read((tx) => tx.get('approvals', approvalId));
    return row?.user_id === userId ? row.tool_id : undefined;
  };

  return {
    // RE-2 has two routes for each decision: with and without the project in the path.
    approve: ({ caller, params, body }) => approve(inProject(caller, params), params.approval_id, body),
    approveById: ({ caller, params, body }) => approve(caller, params.approval_id, body),
    confirm: ({ caller, params, body }) => approve(caller, params.approval_id, body),
    reject: ({ caller, params, body }) => reject(inProject(caller, params), params.approval_id, body),
    rejectById: ({ caller, params, body }) => reject(caller, params.approval_id, body),

    async tryCall({ caller, params, body }) {
      const device = body.device ?? tokenDevice(caller.tokenName);
      const approval = await approvals.tryTool(inProject(caller, params), params.approval_id, { device });
      return { success: true, approval: approval as Approval };
    },

    async submitPreview({ caller, params, body }) {
      const about = { approval: params.approval_id, runner: body.runner_id };
      try {
        const speaker = await reportingRunner(parts, caller, params, body);
        const input = { ...body, ...speaker, runner_id: speaker.runner_id ?? body.runner_id };
        const call = await approvals.submitPreview(inProject(caller, params), params.approval_id, input);
        const error = 'refused' in body ? body.refused.code : undefined;
        parts.log.info({ call, ...about, runner: input.runner_id, error }, 'preview received');
      } catch (error) {
        // Other errors are logged as failed requests.
        if (error instanceof Refusal)
          parts.log.info(
            { call: await callOf(caller, about.approval), ...about, error: error.code },
            'preview refused',
          );
        throw error;
      }
      return { success: true };
    },

    async listApprovals({ caller }) {
      return { success: true, approvals: (await approvals.getPendingApprovals(caller.userId)) as Approval[] };
    },

    async getApproval({ caller, params }) {
      const approval = (await approvals.approvalOf(caller, params.approval_id)) as Approval;
      // A runner may see requests that it previews or has previewed, but no others.
      if (caller.scope === 'runner' && approval.status !== 'pending' && approval.runner_id === null) {
        throw notFound('approval');
      }
      return { success: true, approval };
    },
  } satisfies Partial<Handlers>;
}
