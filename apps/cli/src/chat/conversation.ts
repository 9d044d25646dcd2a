import {
  type CallResponse,
  type ClosedState,
  type EventStream,
  openStream,
  type StreamState,
} from '@countersign/client';
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

type SentMessage = CallResponse<'sendMessage'>;

interface FollowedRun {
  readonly runId: string;
  readonly follower: RunFollower;
}

type Listener = Pick<RunFollowerDeps, 'onLines' | 'onMessageEnd' | 'onNotice' | 'onState'>;

/** One conversation with the agent. Opens its stream before it sends a message, so that it misses no event. */
export class Conversation {
  readonly closed: Promise<ClosedState>;
  readonly #deps: ConversationDeps;
  readonly #stream: EventStream;
  readonly #opened: Promise<unknown>;
  #sessionId: string | undefined;
  /** The followers of runs that have not ended. */
  readonly #followers = new Set<RunFollower>();
  /** Requests that begin to follow a run are sent one after the other. */
  #following: Promise<unknown> = Promise.resolve();
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

  /**
   * Sends a message and follows the run that takes it. `whenBusy`: while the agent works, the message is kept for its
   * next step, or refused. `onSent` is called before any event of the run is passed on.
   */
  send(
    content: string,
    listener: Listener,
    whenBusy: 'refuse' | 'queue',
    onSent: (sent: SentMessage) => void = () => {},
  ): Promise<FollowedRun> {
    const { access, project, model } = this.#deps;
    const params = { project_id: project.project_id };
    return this.#follow(async () => {
      const body = {
        content,
        when_busy: whenBusy,
        ...(this.#sessionId !== undefined && { session_id: this.#sessionId }),
        ...(model !== undefined && { model }),
      };
      const sent = await access.client.sendMessage({ params, body });
      onSent(sent);
      return sent;
    }, listener);
  }

  /** Gives a queued message to the agent, and follows the run that takes it. */
  sendQueued(message_id: string, listener: Listener): Promise<FollowedRun> {
    const { access, project } = this.#deps;
    const params = { project_id: project.project_id, message_id };
    return this.#follow(() => access.client.sendQueuedMessage({ params }), listener);
  }

  /** Takes a message out of the queue again. Returns its text, which the event of a large one leaves out. */
  async unqueue(message_id: string): Promise<string> {
    const { access, project } = this.#deps;
    const params = { project_id: project.project_id };
    const query = { session_id: await this.chooseSession(), limit: 1 };
    const { queued } = await access.client.listMessages({ params, query });
    await access.client.removeQueuedMessage({ params: { ...params, message_id } });
    return queued.find((message) => message.message_id === message_id)?.content ?? '';
  }

  #follow(send: () => Promise<SentMessage>, listener: Listener): Promise<FollowedRun> {
    const followed = this.#following.then(() => this.#followNow(send, listener));
    this.#following = followed.catch(() => {});
    return followed;
  }

  async #followNow(send: () => Promise<SentMessage>, listener: Listener): Promise<FollowedRun> {
    await this.#opened;
    const { access, project } = this.#deps;
    this.#early = [];
    try {
      const { session_id, run_id } = await send();
      this.#sessionId = session_id;
      const known = [...this.#followers].find(({ runId }) => runId === run_id);
      if (known) return { runId: run_id, follower: known };
      const place = { projectId: project.project_id, sessionId: session_id, runId: run_id };
      const follower = new RunFollower({ client: access.client, ...place, ...listener });
      this.#followers.add(follower);
      const forget = () => this.#followers.delete(follower);
      follower.ended.then(forget, forget);
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
    for (const follower of this.#followers) follower.receive(event);
    this.#deps.onEvent(event);
  }
}

const timeOf = ({ last_message_at, created_at }: Pick<Session, 'last_message_at' | 'created_at'>): string =>
  last_message_at ?? created_at;
