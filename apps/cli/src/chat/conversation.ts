import { type ClosedState, type EventStream, openStream, type StreamState } from '@countersign/client';
import type { CountersignEvent } from '@countersign/protocol';
import type { ServerAccess } from '../sign-in/server-access.ts';
import type { Project } from '../sign-in/workspace-project.ts';
import { RunFollower, type RunFollowerDeps } from './run-follower.ts';

export interface ConversationDeps {
  readonly access: ServerAccess;
  readonly project: Project;
  /** The project's latest session when undefined; a new one when there is none. */
  readonly sessionId: string | undefined;
  readonly model: string | undefined;
  onEvent(event: CountersignEvent): void;
  onState(state: StreamState): void;
}

type Listener = Pick<RunFollowerDeps, 'onLines' | 'onNotice' | 'onState'>;

/** One conversation with the agent: a stream that is open before anything is sent, so that nothing is missed. */
export class Conversation {
  readonly closed: Promise<ClosedState>;
  readonly #deps: ConversationDeps;
  readonly #stream: EventStream;
  readonly #opened: Promise<unknown>;
  #sessionId: string | undefined;
  #follower: RunFollower | undefined;
  /** Events that arrived before the response to the message. */
  #early: CountersignEvent[] | undefined;

  constructor(deps: ConversationDeps) {
    this.#deps = deps;
    this.#sessionId = deps.sessionId;
    let opened = () => {};
    const isOpen = new Promise<void>((resolve) => {
      opened = resolve;
    });
    this.#stream = openStream({
      client: deps.access.client,
      projectId: deps.project.project_id,
      onEvent: (event) => this.#receive(event),
      onState: (state) => {
        if (state.status === 'open') opened();
        deps.onState(state);
      },
    });
    this.closed = this.#stream.closed;
    this.#opened = Promise.race([isOpen, this.closed]);
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  /** Sends a message and follows the run that it starts. */
  async send(content: string, listener: Listener): Promise<{ runId: string; follower: RunFollower }> {
    await this.#opened;
    const { access, project, model } = this.#deps;
    const { project_id } = project;
    this.#early = [];
    try {
      const body = {
        content,
        ...(this.#sessionId !== undefined && { session_id: this.#sessionId }),
        ...(model !== undefined && { model }),
      };
      const { session_id, run_id } = await access.client.sendMessage({ params: { project_id }, body });
      this.#sessionId = session_id;
      const place = { projectId: project_id, sessionId: session_id, runId: run_id };
      const follower = new RunFollower({ client: access.client, ...place, ...listener });
      this.#follower = follower;
      return { runId: run_id, follower };
    } finally {
      const early = this.#early;
      this.#early = undefined;
      for (const event of early) this.#receive(event);
    }
  }

  stop(runId: string): Promise<unknown> {
    return this.#deps.access.client.stopRun({ params: { run_id: runId } }, { retry: { times: 2 } });
  }

  close(): void {
    this.#stream.close();
  }

  #receive(event: CountersignEvent): void {
    if (this.#early) {
      this.#early.push(event);
      return;
    }
    this.#follower?.receive(event);
    this.#deps.onEvent(event);
  }
}
