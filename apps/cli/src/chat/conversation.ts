import { type ClosedState, type EventStream, openStream, type StreamState } from '@countersign/client';
import type { CountersignEvent, Session } from '@countersign/protocol';
import type { ServerAccess } from '../sign-in/server-access.ts';
import type { Project } from '../sign-in/workspace-project.ts';
import { RunFollower, type RunFollowerDeps } from './run-follower.ts';

export interface ConversationDeps {
  readonly access: ServerAccess;
  readonly project: Project;
  /** If undefined, the server uses the project's latest session, or makes one. */
  readonly sessionId: string | undefined;
  readonly model: string | undefined;
  onEvent(event: CountersignEvent): void;
  onState(state: StreamState): void;
}

type Listener = Pick<RunFollowerDeps, 'onLines' | 'onMessageEnd' | 'onNotice' | 'onState'>;

/** One conversation with the agent. Opens its stream before it sends a message, so that it misses no event. */
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
    const opened = Promise.withResolvers<void>();
    this.#stream = openStream({
      client: deps.access.client,
      projectId: deps.project.project_id,
      onEvent: (event) => this.#receive(event),
      onState: (state) => {
        if (state.status === 'open') opened.resolve();
        deps.onState(state);
      },
    });
    this.closed = this.#stream.closed;
    this.#opened = Promise.race([opened.promise, this.closed]);
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  /** The conversation's id. If none is chosen yet, the project's latest one, or a new one. */
  async chooseSession(): Promise<string> {
    if (this.#sessionId !== undefined) return this.#sessionId;
    const { access, project } = this.#deps;
    const params = { project_id: project.project_id };
    const { sessions } = await access.client.listSessions({ params });
    const latest = sessions.toSorted((a, b) => timeOf(b).localeCompare(timeOf(a)))[0];
    const { session_id } = latest ?? (await access.client.createSession({ params, body: {} })).session;
    this.#sessionId ??= session_id;
    return this.#sessionId;
  }

  /** Sends a message and follows the run that it starts. */
  send(content: string, listener: Listener): Promise<{ runId: string; follower: RunFollower }> {
    const { access, project, model } = this.#deps;
    const body = {
      content,
      when_busy: 'refuse' as const,
      ...(this.#sessionId !== undefined && { session_id: this.#sessionId }),
      ...(model !== undefined && { model }),
    };
    const params = { project_id: project.project_id };
    return this.#follow(() => access.client.sendMessage({ params, body }), listener);
  }

  /** Gives a queued message to the agent, and follows the run that takes it. */
  sendQueued(message_id: string, listener: Listener): Promise<{ runId: string; follower: RunFollower }> {
    const { access, project } = this.#deps;
    const params = { project_id: project.project_id, message_id };
    return this.#follow(() => access.client.sendQueuedMessage({ params }), listener);
  }

  /** Keeps a message for the agent's next step, while it works. */
  async queue(content: string): Promise<void> {
    const { access, project } = this.#deps;
    const session_id = await this.chooseSession();
    await access.client.sendMessage({
      params: { project_id: project.project_id },
      body: { content, session_id, when_busy: 'queue' },
    });
  }

  /** Takes a message out of the queue again. */
  async unqueue(message_id: string): Promise<void> {
    const { access, project } = this.#deps;
    await access.client.removeQueuedMessage({ params: { project_id: project.project_id, message_id } });
  }

  async #follow(
    send: () => Promise<{ session_id: string; run_id: string }>,
    listener: Listener,
  ): Promise<{ runId: string; follower: RunFollower }> {
    await this.#opened;
    const { access, project } = this.#deps;
    const { project_id } = project;
    this.#early = [];
    try {
      const { session_id, run_id } = await send();
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

const timeOf = ({ last_message_at, created_at }: Pick<Session, 'last_message_at' | 'created_at'>): string =>
  last_message_at ?? created_at;
