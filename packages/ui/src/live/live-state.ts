import { KnownApprovals, Observable } from '@countersign/approvals';
import {
  type Client,
  type Clock,
  decide,
  type EventStream,
  openStream,
  type StreamState,
  systemClock,
} from '@countersign/client';
import type { CountersignEvent } from '@countersign/protocol';
import { Conversations } from './conversations.ts';

export type ConnectionState = StreamState & {
  /** Since when nothing new can have come, by the monotonic clock; null while the stream is open. */
  readonly staleSince: number | null;
};

/** What this page knows of the person's world, kept up to date by one event stream. */
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
    this.approvals = new KnownApprovals({
      clock,
      fetch: async (approval_id) =>
        (await client.getApproval({ params: { approval_id } }, { retry: { times: 3 } })).approval,
      decide: (decision) => decide(client, decision),
    });
    this.conversations = new Conversations(client);
    this.connection = new Observable<ConnectionState>({ status: 'connecting', staleSince: null });
  }

  /** Opens the stream; the answer closes it. */
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

  /** Called for every event; the answer ends it. */
  listen(listener: (event: CountersignEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #receive(event: CountersignEvent): void {
    if (event.event === 'stream.reset') {
      void this.#reconcile();
      void this.conversations.refresh();
    }
    this.approvals.receive(event);
    this.conversations.receive(event);
    for (const listener of this.#listeners) listener(event);
  }

  /** Compares what we show with what waits on the server: after a reset events were missed. */
  async #reconcile(): Promise<void> {
    try {
      const { approvals } = await this.client.listApprovals();
      await Promise.all(this.approvals.replace(approvals).map((id) => this.approvals.refresh(id)));
    } catch {
      // The stream itself tells when the server cannot be reached.
    }
  }

  #enter(state: StreamState): void {
    const { staleSince } = this.connection.get();
    const now = this.clock.monotonic();
    // A sleep may lie behind us, in which our clock stood still and the deadlines did not.
    if (state.status === 'open' && this.#wasOpen) void this.#reconcile();
    this.#wasOpen ||= state.status === 'open';
    this.connection.set({ ...state, staleSince: state.status === 'open' ? null : (staleSince ?? now) });
  }
}
