import type { CountersignEvent, PolicyRule } from '@countersign/protocol';
import { approvalRequestEvent } from '../record/call-events.ts';
import type { ApprovalRow, ShownPayload } from '../rows.ts';

/** A pending request as it is shown to every stream of its person: encoded once, but for the time it has left. */
export interface PendingRequest {
  readonly approvalId: string;
  readonly projectId: string;
  readonly deadlineAt: number;
  /** The data of its event up to the time that is left, which `endOfRequest` adds. Undefined: not kept, read again. */
  readonly json: Buffer | undefined;
}

/** A pending request with its bytes. */
export type EncodedRequest = PendingRequest & { readonly json: Buffer };

export function encodeRequest(
  row: ApprovalRow,
  payload: ShownPayload,
  rules: readonly PolicyRule[],
  now: number,
): EncodedRequest {
  const { data } = approvalRequestEvent(row, payload, rules, now) as EventOfRequest;
  const { remaining_ms: _left, timestamp: _now, ...lasting } = data;
  const text = JSON.stringify(lasting);
  return {
    approvalId: row.id,
    projectId: row.project_id,
    deadlineAt: row.deadline_at,
    json: Buffer.from(`${text.slice(0, -1)},"remaining_ms":`),
  };
}

/** What follows the bytes of a request that is sent now. */
export const endOfRequest = ({ deadlineAt }: PendingRequest, now: number): string =>
  `${Math.max(0, Math.round(deadlineAt - now))},"timestamp":"${new Date(now).toISOString()}"}`;

/** The event of a request that is sent now, for those who take no bytes. */
export const eventOfRequest = (request: EncodedRequest, now: number): CountersignEvent =>
  ({
    event: 'tool.approval_request',
    data: JSON.parse(`${request.json}${endOfRequest(request, now)}`),
  }) as CountersignEvent;

type EventOfRequest = Extract<CountersignEvent, { event: 'tool.approval_request' }>;
