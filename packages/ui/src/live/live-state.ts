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
  /** The name that decisions of this page carry. */
  readonly device: string;
  readonly clock: Clock;
  readonly approvals: KnownApprovals;
  readonly conversations: Conversations;
  readonly connection: Observable<ConnectionState>;
  /** The cards that the person has looked at for half a second, by approval id: the version that was shown. */
  readonly seen = new Observable<ReadonlyMap<string, string>>(new Map());
  readonly #listeners = new Set<(event: CountersignEvent) => void>();
  #stream: EventStream | undefined;
  #wasOpen = false;

  constructor(client: Client, device: string, clock: Clock = systemClock) {
    this.client = client;
    this.device = device;
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

  /** Ends the pause before the next attempt to connect, and resets the back-off. */
  retryNow(): void {
    this.#stream?.retryNow();
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
    // The monotonic clock stops during system sleep, so the deadlines may be wrong: read them again.
    if (state.status === 'open' && this.#wasOpen) void this.approvals.readAgain();
    this.#wasOpen ||= state.status === 'open';
    this.connection.set({ ...state, staleSince: state.status === 'open' ? null : (staleSince ?? now) });
  }
}
