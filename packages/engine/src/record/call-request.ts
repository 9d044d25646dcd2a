import type { PolicyDecision, ToolCallPolicy } from '@countersign/policy';
import type { TokenScope } from '@countersign/protocol';
import type { JsonObject, ProjectRow, SessionRow } from '../rows.ts';

/** A tool call as the agent, a person or an outside program makes it. */
export interface CallRequest {
  readonly userId: string;
  readonly project: ProjectRow;
  readonly sessionId: string;
  /** The session, if this call opens it: it is stored in the commit that records the call (RE-2). */
  readonly opens?: SessionRow | undefined;
  readonly toolName: string;
  readonly toolParams: JsonObject;
  /** The model's own id of the call. */
  readonly toolCallId: string;
  /** The name that the person sees: "Agent", or the name of an outside program. */
  readonly agent: string;
  /** The token that asked; an agent sees only its own calls (AP-9). */
  readonly requestedBy: string;
  /** An outside agent opens sessions itself, so the limits of a session apply to all sessions of its token (AG-3). */
  readonly isOutsideAgent?: boolean;
  readonly context: CallContext;
  /** The call's place in its run: it is made once, by the node that holds the run (AG-2). */
  readonly run?: {
    readonly runId: string;
    readonly epoch: number;
    readonly step: number;
    readonly index: number;
  };
  /** The caller's own decision about the call, valid while the policy is the same. */
  readonly decided?: { readonly policy: ToolCallPolicy; readonly decision: PolicyDecision } | undefined;
}

export interface CallContext {
  readonly message_id: string | null;
  readonly run_id: string | null;
  readonly step: number | null;
  readonly excerpt: string;
}

/** The authenticated caller. The user comes from the token alone (RE-5). */
export interface Caller {
  readonly userId: string;
  readonly tokenId: string;
  readonly scope: TokenScope;
  /** The project that the token is bound to or that the request names; rows of other projects are not found. */
  readonly projectId?: string;
}
