import {
  type ApprovalDecision,
  type CallInput,
  type CallResponse,
  type Client,
  type DecisionOutcome,
  decide,
} from '@countersign/client';
import type { Approval } from '@countersign/protocol';

/** The requests to the server that approvals need. */
export interface ApprovalsServer {
  /** Reads the newest version, with the parts that events leave out (EV-2). */
  fetch(approvalId: string): Promise<Approval>;
  /** Lists the pending approvals. */
  list(): Promise<readonly Approval[]>;
  runners(): Promise<CallResponse<'listRunners'>['runners']>;
  decide(decision: ApprovalDecision): Promise<DecisionOutcome>;
  /** Asks the runner to try the call before anybody decides (RN-13). Its outcome comes as `approval.updated`. */
  tryFirst(params: CallInput<'tryCall'>['params']): Promise<unknown>;
}

const options = { retry: { times: 3 } };

export const approvalsServer = (client: Client): ApprovalsServer => ({
  fetch: async (approval_id) => (await client.getApproval({ params: { approval_id } }, options)).approval,
  list: async () => (await client.listApprovals({}, options)).approvals,
  runners: async () => (await client.listRunners({}, options)).runners,
  decide: (decision) => decide(client, decision),
  tryFirst: (params) => {
    const { device } = client.connection;
    return client.tryCall({ params, body: device === undefined ? {} : { device } });
  },
});
