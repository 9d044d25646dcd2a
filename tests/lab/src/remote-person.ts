import { type Client, type Clock, createClient, type EventStream, openStream } from '@countersign/client';
import type { CountersignEvent, EventName, EventPayload } from '@countersign/protocol';
import { quickClock, until } from './waiting.ts';
import { WireIds } from './wire-ids.ts';

export interface Received {
  readonly event: CountersignEvent;
  readonly id: number | undefined;
}

/** A person at a front end: the product's client with a stream that survives server restarts and keeps every event. */
export class RemotePerson {
  readonly client: Client;
  readonly received: Received[] = [];
  readonly problems: string[] = [];
  readonly wire = new WireIds();
  onEvent: (event: CountersignEvent) => void = () => {};
  readonly #baseUrl: string;
  readonly #token: string;
  readonly #clock: Clock;
  #stream: EventStream | undefined;

  constructor(baseUrl: string, token: string, device = 'phone', clock = quickClock) {
    this.#baseUrl = baseUrl;
    this.#token = token;
    this.#clock = clock;
    this.client = createClient({ baseUrl, token: () => token, clock, device });
  }

  async connect(): Promise<this> {
    let opened = () => {};
    const open = new Promise<void>((resolve) => {
      opened = resolve;
    });
    this.#stream = openStream({
      baseUrl: this.#baseUrl,
      token: () => this.#token,
      fetch: this.wire.fetch,
      // From the first event, so that every event of the person must arrive, once.
      lastEventId: '0',
      clock: this.#clock,
      onState: ({ status }) => {
        if (status === 'open') opened();
      },
      onEvent: (event, id) => {
        this.received.push({ event, id: id === undefined ? undefined : Number(id) });
        this.onEvent(event);
      },
      onUnknown: ({ name, problem }) => this.problems.push(`unknown event ${name}: ${problem}`),
      onListenerError: (error) => this.problems.push(`a listener failed: ${String(error)}`),
    });
    await open;
    return this;
  }

  close(): void {
    this.#stream?.close();
  }

  all<N extends EventName>(name: N): EventPayload<N>[] {
    return this.received
      .filter(({ event }) => event.event === name)
      .map(({ event }) => event.data as EventPayload<N>);
  }

  /** The first matching event, including those that arrived already. */
  async next<N extends EventName>(
    name: N,
    fits: (data: EventPayload<N>) => boolean = () => true,
  ): Promise<EventPayload<N>> {
    let found: EventPayload<N> | undefined;
    await until(
      () => {
        found = this.all(name).find(fits);
        return found !== undefined;
      },
      {
        otherwise: () => `No such ${name} among ${this.received.map((r) => r.event.event).join(', ')}`,
      },
    );
    return found as EventPayload<N>;
  }

  ids(): number[] {
    return this.received.flatMap(({ id }) => id ?? []);
  }
}
