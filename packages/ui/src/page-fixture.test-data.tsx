/** A server in memory, a clock that tests move, and what is needed around a component. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReadableStream } from 'node:stream/web';
import { type Clock, createClient } from '@countersign/client';
import {
  type Approval,
  approvalSchema,
  type CountersignEvent,
  type EventName,
  type EventPayload,
  type RouteName,
  routes,
  shownDigest,
} from '@countersign/protocol';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render } from '@testing-library/react';
import type { ReactNode } from 'react';
import { LiveProvider } from './live/live-context.ts';
import { LiveState } from './live/live-state.ts';
import { EventSync } from './queries/event-sync.tsx';
import { type LanguageCode, LanguageProvider, languages } from './words/words.ts';

const fixtures = join(import.meta.dirname, '../../protocol/fixtures');

/** The examples of the wire: `events/agent.state`, `bodies/listGrants.response`. */
export function examples<T>(name: string): T[] {
  return JSON.parse(readFileSync(join(fixtures, `${name}.json`), 'utf8')) as T[];
}

export function event<N extends EventName>(
  name: N,
  change: Partial<EventPayload<N>> = {},
  which = 0,
): CountersignEvent {
  return {
    event: name,
    data: { ...examples<EventPayload<N>>(`events/${name}`)[which], ...change },
  } as CountersignEvent;
}

export function anApproval(change: Partial<Approval> = {}): Approval {
  const { approvals } = examples<{ approvals: Approval[] }>('bodies/listApprovals.response')[0] ?? {
    approvals: [],
  };
  return sealed(approvalSchema.parse({ ...approvals[0], digest_base: null, ...change }));
}

/** Adds the digest of what the card shows. A digest that the test has set is used as the runner's part of it. */
export function sealed<A extends Approval>(approval: A): A {
  const { preview, digest, digest_base, omitted } = approval;
  if (digest === null || preview === null || omitted)
    return { ...approval, digest_base: digest_base ?? digest };
  const base = digest_base ?? digest;
  return { ...approval, digest_base: base, digest: shownDigest({ ...approval, preview, digest_base: base }) };
}

/** The event that updates this request, with the digest of the updated card. */
export function updateEvent(
  approval: Approval,
  change: Partial<Approval>,
): CountersignEvent & { readonly event: 'approval.updated' } {
  const { approval_id, tool_params, risk_level } = approval;
  const update = event('approval.updated', {
    approval_id,
    tool_params,
    risk_level,
    ...change,
    digest_base: null,
  });
  const { digest, digest_base } = sealed({ ...approval, ...(update.data as Partial<Approval>) });
  return { ...update, data: { ...update.data, digest, digest_base } } as never;
}

/** The same request as its event. */
export function requestEvent(approval: Approval): CountersignEvent {
  const { status: _status, created_at, ...data } = approval;
  return { event: 'tool.approval_request', data: { ...data, timestamp: created_at } };
}

export class TestClock implements Clock {
  #now = 1_000;
  #timers: { due: number; callback: () => void }[] = [];

  readonly monotonic = (): number => this.#now;

  after(ms: number, callback: () => void): () => void {
    const timer = { due: this.#now + ms, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Advances the time, and runs what has waited for it. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await act(async () => {
      for (;;) {
        const next = this.#timers.filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)[0];
        if (!next) break;
        this.#timers = this.#timers.filter((other) => other !== next);
        this.#now = next.due;
        next.callback();
        await turn();
      }
      this.#now = end;
      await turn();
    });
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

/** Waits until nothing is under way in the page. */
export const settle = (): Promise<void> =>
  act(async () => {
    for (let i = 0; i < 15; i += 1) await turn();
  });

export interface SeenRequest {
  readonly route: RouteName;
  readonly body: unknown;
  readonly url: string;
}

type Answer = object | ((request: SeenRequest) => object | Promise<object>);

/** Thrown by an answer: the request is refused with this. */
export class Refused {
  readonly status: number;
  readonly body: object;

  constructor(status: number, code: string, more: object = {}) {
    this.status = status;
    this.body = { success: false, error: `refused: ${code}`, code, ...more };
  }
}

/** Answers every route with its example unless a test says otherwise, and keeps what was asked. */
export class TestServer {
  readonly requests: SeenRequest[] = [];
  /** True: no request is answered, and no stream opened. */
  isDown = false;
  readonly #answers = new Map<RouteName, Answer>();
  #stream: { send(text: string): void; end(): void } | undefined;
  #lastId = 0;

  on(route: RouteName, answer: Answer): void {
    this.#answers.set(route, answer);
  }

  bodiesOf(route: RouteName): unknown[] {
    return this.requests.filter((request) => request.route === route).map(({ body }) => body);
  }

  /** Sends events to the page. */
  async emit(...events: readonly CountersignEvent[]): Promise<void> {
    for (const { event: name, data } of events) {
      this.#lastId += 1;
      this.#stream?.send(`id: ${this.#lastId}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    }
    await settle();
  }

  async loseConnection(): Promise<void> {
    this.isDown = true;
    this.#stream?.end();
    await settle();
  }

  readonly fetch = (async (input: string, init: RequestInit = {}) => {
    await turn();
    if (this.isDown) throw new TypeError('nobody listens');
    const url = new URL(String(input), 'http://page.test');
    const route = routeOf(init.method ?? 'GET', url.pathname);
    if (route === undefined)
      return response(404, { success: false, error: 'no such route', code: 'NOT_FOUND' });
    if (routes[route].response === 'stream') return this.#openStream(init.signal);
    const body = typeof init.body === 'string' ? JSON.parse(init.body) : undefined;
    const request = { route, body, url: url.pathname + url.search };
    this.requests.push(request);
    const answer = this.#answers.get(route) ?? example(route);
    try {
      return response(200, typeof answer === 'function' ? await answer(request) : answer);
    } catch (refused) {
      if (refused instanceof Refused) return response(refused.status, refused.body);
      throw refused;
    }
  }) as unknown as typeof fetch;

  #openStream(signal: AbortSignal | null | undefined) {
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#stream = {
          send: (text) => controller.enqueue(encoder.encode(text)),
          end: () => controller.close(),
        };
        signal?.addEventListener('abort', () => {
          try {
            controller.error(signal.reason);
          } catch {
            // the stream had already ended
          }
        });
      },
    });
    const headers = new Map([['content-type', 'text/event-stream']]);
    return { ok: true, status: 200, headers: { get: (name: string) => headers.get(name) ?? null }, body };
  }
}

function routeOf(method: string, path: string): RouteName | undefined {
  // Literal segments win: `/my/tools/history` is not a tool's id.
  const matching = (Object.keys(routes) as RouteName[]).filter((name) => {
    const pattern = routes[name].path.replace(/\{[^}]+\}/g, '[^/]+');
    return routes[name].method === method && new RegExp(`^${pattern}$`).test(path);
  });
  return matching.sort((a, b) => routes[a].path.split('{').length - routes[b].path.split('{').length)[0];
}

const example = (route: RouteName): object => examples<object>(`bodies/${route}.response`)[0] ?? {};

const response = (status: number, body: object) => ({
  ok: status === 200,
  status,
  headers: { get: () => null },
  body: null,
  json: async () => body,
  text: async () => JSON.stringify(body),
});

/** The position of every element, because the test's browser has no layout: in sight, unless a test moves it. */
export const layout = { top: 0, bottom: 100 };

/** Renders a component with everything that a page gives it, and an open stream. */
export async function openPage(
  children: ReactNode,
  { language = 'en' as LanguageCode, server = new TestServer() } = {},
) {
  Element.prototype.getBoundingClientRect = () =>
    new DOMRect(0, layout.top, 300, layout.bottom - layout.top) as ReturnType<
      Element['getBoundingClientRect']
    >;
  sessionStorage.clear(); // drafts of an earlier test
  const clock = new TestClock();
  const client = createClient({
    baseUrl: '',
    token: () => 'token',
    fetch: server.fetch,
    device: 'test page',
    clock,
  });
  const live = new LiveState(client, 'test page', clock);
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 30_000 } } });
  const stop = live.start();
  const screen = render(
    <LanguageProvider value={{ code: language, words: languages[language] }}>
      <QueryClientProvider client={queries}>
        <LiveProvider value={live}>
          <EventSync />
          {children}
        </LiveProvider>
      </QueryClientProvider>
    </LanguageProvider>,
  );
  await settle();
  return { clock, client, live, server, stop, ...screen };
}
