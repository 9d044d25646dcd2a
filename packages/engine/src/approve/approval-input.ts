import type { ApprovalScope, ErrorCode, Preview, Reason, RiskLevel } from '@countersign/protocol';
import type { ApprovalRow, JsonObject } from '../rows.ts';

/** What a person sends with an approval. */
export interface ApproveInput {
  readonly digest?: string | undefined;
  readonly scope?: ApprovalScope | undefined;
  readonly pattern?: string | undefined;
  readonly include_high?: boolean | undefined;
  readonly tool_params?: JsonObject | undefined;
  readonly device?: string | undefined;
}

export interface RejectInput {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly device?: string | undefined;
}

/** What a runner found out about a request (AP-7, VA-8). */
export type PreviewInput =
  | {
      readonly runner_id: string;
      readonly instance?: string | undefined;
      readonly revision: number;
      readonly preview: Preview;
      readonly digest_base: string;
      /** As the runner computed it; the server's own counts. */
      readonly digest?: string | undefined;
      readonly risk_level: RiskLevel;
      readonly reasons: readonly Reason[];
      readonly network: boolean;
    }
  | {
      readonly runner_id: string;
      readonly instance?: string | undefined;
      readonly revision: number;
      readonly reasons: readonly Reason[];
      readonly refused: { readonly code: ErrorCode; readonly message: string };
    };

export interface DecisionAnswer {
  readonly status: ApprovalRow['status'];
  readonly grantId: string | undefined;
  readonly ruleId: string | undefined;
}
