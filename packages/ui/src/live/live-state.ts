import { approvalsServer, KnownApprovals, Observable } from '@countersign/approvals';
import {
  type Client,
  type Clock,
  type EventStream,
  openStream,
  type StreamState,
  systemClock,
} from '@countersign/client';
import type { CountersignEvent } from '@countersign/protocol';
import { Conversations } from './conversations.ts';

export type ConnectionState = StreamState & {
  /** When the stream was lost, by the monotonic clock; null while it is open. */
  readonly staleSince: number | null;
};

/** The page's state: approvals and conversations, kept up to date by one event stream. */
export class LiveState {
  readonly client: Client;
  readonly clock: Clock;
  readonly approvals: KnownApprovals;
  readonly conversations: Conversations;
  readonly connection: Observable<ConnectionState>;
  readonly #listeners = new Set<(event: CountersignEvent) => void>();
  #stream: EventStream | undefined;
  #wasOpen = false;

  constructor(client: Client, clock: Clock = systemClock) {
    this.client = client;
    this.clock = clock;
    this.approvals = new KnownApprovals({ clock, server: approvalsServer(client) });
    this.conversations = new Conversations(client);
    this.connection = new Observable<ConnectionState>({ status: 'connecting', staleSince: null });
  }

  /** Opens the stream. Returns a function that closes it. */
  start(): () => void {
    this.#stream ??= openStream({
      client: this.client,
      clock: this.clock,
      onEvent: (event) => this.#receive(event),
      onState: (state) => this.#enter(state),
    });
    return () => {
      this.#stream?.close();
      this.#stream = undefined;
    };
  }

  /** Calls the listener for every event. Returns a function that stops it. */
  listen(listener: (event: CountersignEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #receive(event: CountersignEvent): void {
    if (event.event === 'stream.reset') void this.conversations.refresh();
    this.approvals.receive(event);
    this.conversations.receive(event);
    for (const listener of this.#listeners) listener(event);
  }

  #enter(state: StreamState): void {
    const { staleSince } = this.connection.get();
    const now = this.clock.monotonic();
    // After system sleep our clock stood still and the deadlines did not.
    if (state.status === 'open' && this.#wasOpen) void this.approvals.readAgain();
    this.#wasOpen ||= state.status === 'open';
    this.connection.set({ ...state, staleSince: state.status === 'open' ? null : (staleSince ?? now) });
  }
}
