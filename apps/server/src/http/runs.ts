import type { ProjectRow, RunRow, SessionRow } from '@countersign/engine';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';

/** A message that starts a run. The project and the session are the caller's own; that was checked. */
export interface RunInput {
  readonly caller: AuthenticatedCaller;
  readonly project: ProjectRow;
  readonly session: SessionRow;
  readonly content: string;
  /** `provider:model`; undefined: the configured one. */
  readonly model: string | undefined;
}

/** The agent, as the routes see it (AG-1, AG-3). */
export interface Runs {
  /** Stores the message (as the user's, whoever asks) and the run in one unit, and sets the run going. */
  start(input: RunInput): Promise<{ run_id: string; message_id: string; session_id: string }>;
  /** Throws NOT_FOUND for another person's run. A run that has ended stays as it is. */
  stop(caller: AuthenticatedCaller, runId: string): Promise<RunRow>;
  get(caller: AuthenticatedCaller, runId: string): Promise<RunRow>;
  /** The model of messages that name none, and why it cannot be used, if so. */
  model(): { readonly model: string; readonly problem: string | null };
}
