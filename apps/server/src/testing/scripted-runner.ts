import { request } from 'node:http';
import type { EventPayload } from '@countersign/protocol';
import { listenTo, type TestStream } from './test-stream.ts';

type Signal = EventPayload<'tool.execution_signal'>;
type Undo = EventPayload<'tool.undo'>;
type ApprovalRequest = EventPayload<'tool.approval_request'>;

export interface ScriptedRunnerOptions {
  readonly address: string;
  readonly token: string;
  readonly projectId: string;
  readonly runnerId?: string;
  readonly workspace?: string;
  readonly capabilities?: readonly string[];
  /** The result of a call, as the body of `POST …/result`. Undefined: nothing is reported. */
  readonly execute?: (signal: Signal) => object | undefined | Promise<object | undefined>;
  /** What is shown, with the base of its digest; undefined: no preview is made. */
  readonly preview?: (request: ApprovalRequest) => object | undefined;
  /** The outcome of an undo, as the body of `POST …/result`. Undefined: nothing is reported. */
  readonly undo?: (event: Undo) => object | undefined;
}

/** A runner without a disk: real HTTP and a real stream, answers by script. It counts what it was made to execute. */
export class ScriptedRunner {
  readonly executed: Signal[] = [];
  readonly previewed: string[] = [];
  readonly #options: ScriptedRunnerOptions;
  readonly #stream: TestStream;

  private constructor(options: ScriptedRunnerOptions, stream: TestStream) {
    this.#options = options;
    this.#stream = stream;
    stream.onEvent(({ event, data }) => {
      if (event === 'tool.execution_signal') void this.#execute(data as Signal);
      if (event === 'tool.undo') void this.#undo(data as Undo);
      if (event === 'tool.approval_request' || event === 'approval.updated') {
        void this.#preview(data as ApprovalRequest);
      }
    });
  }

  static async connect(options: ScriptedRunnerOptions): Promise<ScriptedRunner> {
    const { address, token, projectId, runnerId = 'runner-1', workspace = '/workspace' } = options;
    const capabilities = (options.capabilities ?? []).join(',');
    const query = new URLSearchParams({ runner: runnerId, workspace, capabilities });
    const stream = await listenTo(`${address}/my/projects/${projectId}/chat/stream?${query}`, { token });
    const runner = new ScriptedRunner(options, stream);
    await stream.untilListening();
    return runner;
  }

  get stream(): TestStream {
    return this.#stream;
  }

  /** Calls `act` and returns the signal that it causes. */
  async nextSignal(act: () => Promise<unknown>): Promise<Signal> {
    const known = new Set(this.#stream.events);
    await act();
    const found = await this.#stream.until(
      (event) => event.event === 'tool.execution_signal' && !known.has(event),
    );
    return found.data as Signal;
  }

  close(): void {
    this.#stream.close();
  }

  async #execute(signal: Signal): Promise<void> {
    const { tool_id, attempt, risk_level, digest, project_id } = signal;
    const runner_id = this.#options.runnerId ?? 'runner-1';
    const path = `/my/projects/${project_id}/tools/${tool_id}`;
    if (risk_level !== 'LOW') {
      const claim = await this.post(`${path}/start`, { digest, runner_id, attempt });
      if (claim.status !== 200) return;
    }
    this.executed.push(signal);
    const result = (await this.#options.execute?.(signal)) ?? undefined;
    if (result !== undefined) await this.post(`${path}/result`, { ...result, runner_id, attempt });
  }

  async #undo(event: Undo): Promise<void> {
    const report = this.#options.undo?.(event);
    const { undo_id, tool_id, tool_ids, project_id } = event;
    const runner_id = this.#options.runnerId ?? 'runner-1';
    const body = { ...report, runner_id, undo_id, ...(tool_ids && { undo_tool_ids: tool_ids }) };
    if (report) await this.post(`/my/projects/${project_id}/tools/${tool_id}/result`, body);
  }

  async #preview(about: ApprovalRequest): Promise<void> {
    const body = about.preview === null ? this.#options.preview?.(about) : undefined;
    if (body === undefined) return;
    const runner_id = this.#options.runnerId ?? 'runner-1';
    const { project_id, approval_id, revision, risk_level, network } = about;
    const answer = await this.post(`/my/projects/${project_id}/approvals/${approval_id}/preview`, {
      runner_id,
      revision,
      reasons: [],
      risk_level,
      network,
      ...body,
    });
    if (answer.status === 200) this.previewed.push(approval_id);
  }

  /** Resolves with status 0 when the server has gone away meanwhile. */
  post(path: string, body: object): Promise<{ status: number; body: unknown }> {
    const { address, token } = this.#options;
    return new Promise((resolve) => {
      const sent = request(
        address + path,
        { method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part) => {
            text += part;
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
        },
      );
      sent.on('error', () => resolve({ status: 0, body: undefined })).end(JSON.stringify(body));
    });
  }
}
