import { randomUUID } from 'node:crypto';
import { ApiError, type Client, createClient, type EventStream, openStream } from '@countersign/client';
import type { EventPayload } from '@countersign/protocol';
import { quickClock, untilAnswered } from './waiting.ts';
import { WireIds } from './wire-ids.ts';

export type Signal = EventPayload<'tool.execution_signal'>;
export type ApprovalRequest = EventPayload<'tool.approval_request'>;
export type ResultBody = NonNullable<Parameters<Client['submitResult']>[0]['body']>;

export interface RunnerScript {
  readonly baseUrl: string;
  readonly token: string;
  readonly projectId: string;
  readonly runnerId?: string;
  readonly workspace?: string;
  /** The result of a call. Called once for each execution that starts. */
  readonly execute?: (signal: Signal, cancelled: Promise<void>) => Promise<ResultBody> | ResultBody;
  /** A refusal that is reported instead of starting the call; undefined starts it. */
  readonly refuse?: (signal: Signal) => ResultBody | undefined;
  /** The runner's part of the preview digest; undefined sends no preview. */
  readonly preview?: (request: ApprovalRequest) => string | undefined;
}

/** A string in the format of a digest. */
export const digestOf = (character: string): string => `sha256:${character.repeat(64)}`;

/**
 * A runner without a disk, on the product's own client. As EX-6 asks, it journals (tool_id, attempt) before it starts,
 * answers a repeated signal from the journal, and resends results until they are acknowledged. It survives server
 * restarts.
 */
export class RemoteRunner {
  /** Every execution that started, in order: the effects on the person's machine. */
  readonly effects: { readonly toolId: string; readonly attempt: number; readonly path: string }[] = [];
  /** (tool_id, attempt) to its result, which may still be pending. */
  readonly #journal = new Map<string, Promise<ResultBody>>();
  readonly #underway = new Map<string, { readonly toolId: string; cancel(): void }>();
  /** A cancel may arrive before the response to the claim. */
  readonly #cancelled = new Set<string>();
  readonly #sending = new Set<string>();
  /** The newest audit chain head in the server's acknowledgements (DA-4). */
  auditHead: string | undefined;
  readonly problems: string[] = [];
  readonly wire = new WireIds();
  readonly #script: RunnerScript;
  readonly #client: Client;
  #stream: EventStream | undefined;
  #lastEventId: string | undefined;
  #beating: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(script: RunnerScript) {
    this.#script = script;
    this.#client = createClient({ baseUrl: script.baseUrl, token: () => script.token, clock: quickClock });
  }

  /** One id for the whole life of this object, so that it may repeat its claims. */
  readonly #instance = randomUUID();

  get id(): string {
    return this.#script.runnerId ?? 'runner-1';
  }

  /** True while it is connected or reconnecting. */
  get isThere(): boolean {
    return this.#stream !== undefined;
  }

  /** Opens the stream and keeps it open over server restarts. Resolves when the server knows the runner. */
  async connect(): Promise<void> {
    const { baseUrl, token, workspace = '/workspace' } = this.#script;
    let opened = () => {};
    const open = new Promise<void>((resolve) => {
      opened = resolve;
    });
    this.#stream = openStream({
      baseUrl,
      token: () => token,
      fetch: this.wire.fetch,
      runner: { id: this.id, workspace, capabilities: [], instance: this.#instance },
      lastEventId: this.#lastEventId,
      clock: quickClock,
      onState: ({ status }) => {
        if (status === 'open') {
          opened();
          void this.#beat();
        }
      },
      onEvent: ({ event, data }) => {
        if (event === 'tool.execution_signal') void this.#take(data);
        if (event === 'tool.approval_request' || event === 'approval.updated') {
          void this.#preview(data as ApprovalRequest);
        }
        if (event === 'tool.cancel') this.#cancel(data.tool_id);
      },
      onUnknown: ({ name, problem }) => this.problems.push(`unknown event ${name}: ${problem}`),
    });
    this.#beating = setInterval(() => void this.#beat(), 5_000);
    await open;
  }

  /** Disconnects without notice; `connect` resumes after the last event. */
  disconnect(): void {
    this.#lastEventId = this.#stream?.lastEventId ?? this.#lastEventId;
    clearInterval(this.#beating);
    this.#stream?.close();
    this.#stream = undefined;
  }

  close(): void {
    this.#closed = true;
    this.disconnect();
  }

  executionsOf(toolId: string): number {
    return this.effects.filter((effect) => effect.toolId === toolId).length;
  }

  async #take(signal: Signal): Promise<void> {
    const { tool_id, project_id, attempt, risk_level, digest } = signal;
    const key = `${tool_id}#${attempt}`;
    if (this.#sending.has(key)) return;
    this.#sending.add(key);
    try {
      const params = { project_id, tool_id };
      const refused = this.#script.refuse?.(signal);
      if (refused) this.#journal.set(key, Promise.resolve(refused));
      if (!this.#journal.has(key) && risk_level !== 'LOW') {
        await this.#send(() =>
          this.#client.startExecution({
            params,
            body: { digest, runner_id: this.id, attempt, instance: this.#instance },
          }),
        );
      }
      const result = await this.#executeOnce(signal, key);
      const body = { ...result, runner_id: this.id, attempt } as ResultBody;
      const { audit_head } = await this.#send(() => this.#client.submitResult({ params, body }));
      if (audit_head !== undefined) this.auditHead = audit_head;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error; // refused: cancelled, stale or another runner's call
    } finally {
      this.#sending.delete(key);
    }
  }

  #executeOnce(signal: Signal, key: string): Promise<ResultBody> {
    const known = this.#journal.get(key);
    if (known) return known;
    const { tool_id: toolId, attempt, tool_params } = signal;
    this.effects.push({ toolId, attempt, path: String(tool_params.path ?? '') });
    const cancelled = new Promise<void>((resolve) => {
      this.#underway.set(key, { toolId, cancel: resolve });
      if (this.#cancelled.has(toolId)) resolve();
    });
    const { execute = () => completed } = this.#script;
    const result = Promise.resolve(execute(signal, cancelled)).finally(() => this.#underway.delete(key));
    this.#journal.set(key, result);
    return result;
  }

  async #preview(about: ApprovalRequest): Promise<void> {
    const digest_base = about.preview === null ? this.#script.preview?.(about) : undefined;
    if (digest_base === undefined) return;
    const { project_id, approval_id, revision, risk_level, network } = about;
    const preview = { kind: 'summary' as const, summary: 'what would happen' };
    const body = { runner_id: this.id, revision, reasons: [], risk_level, network, preview, digest_base };
    await this.#send(() => this.#client.submitPreview({ params: { project_id, approval_id }, body })).catch(
      ignoreRefusal,
    );
  }

  #cancel(toolId: string): void {
    this.#cancelled.add(toolId);
    for (const running of this.#underway.values()) if (running.toolId === toolId) running.cancel();
  }

  /**
   * On each new connection, then every few seconds: reports what executes and hears what the server cancelled (EX-7).
   */
  async #beat(): Promise<void> {
    const executing = [...new Set([...this.#underway.values()].map(({ toolId }) => toolId))];
    const params = { project_id: this.#script.projectId, runner_id: this.id };
    const body = { queued: [], executing, unacknowledged: [] };
    const answer = await this.#client.heartbeat({ params, body }).catch(ignoreRefusal);
    for (const [toolId, word] of Object.entries(answer?.calls ?? {}))
      if (word === 'cancel') this.#cancel(toolId);
  }

  #send<T>(send: () => Promise<T>): Promise<T> {
    return untilAnswered(send, () => this.#closed);
  }
}

export const completed: ResultBody = { status: 'completed', result: { success: true }, execution_time_ms: 1 };

const ignoreRefusal = (error: unknown): void => {
  if (!(error instanceof ApiError)) throw error;
};
