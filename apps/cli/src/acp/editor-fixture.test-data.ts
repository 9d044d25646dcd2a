import { readFileSync, writeFileSync } from 'node:fs';
import {
  type AnyMessage,
  type ClientConnection,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  client,
  methods,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type Stream,
} from '@agentclientprotocol/sdk';
import { fakeTerminal } from '../screen/screen-fixture.test-data.ts';
import { wordsFor } from '../words.ts';
import { AcpAgent } from './acp-agent.ts';

export interface Asked {
  readonly request: RequestPermissionRequest;
  /** Aborted when the agent has withdrawn it. */
  readonly signal: AbortSignal;
  readonly choose: (optionId: string) => void;
  readonly dismiss: () => void;
}

/** An editor: the official SDK's client, connected to our agent, with everything that came over the connection. */
export class TestEditor {
  readonly updates: SessionUpdate[] = [];
  readonly asked: Asked[] = [];
  readonly connection: ClientConnection;
  readonly terminal = fakeTerminal();
  readonly #agent: AcpAgent;

  /** Unsaved texts by absolute path. Set it before `initialize` to have the `fs` capability. */
  unsaved: Map<string, string> | undefined;
  /** The answer to a form, for an editor that can show one. Set it before `initialize`. */
  formAnswer: CreateElicitationResponse | undefined;
  readonly forms: CreateElicitationRequest[] = [];

  constructor(env: Readonly<Record<string, string>>, { minimumMs = 0 } = {}) {
    const [ours, theirs] = pipes();
    this.#agent = new AcpAgent({
      terminal: this.terminal,
      env,
      server: undefined,
      words: wordsFor({}),
      minimumMs,
    });
    this.#agent.connect(ours);
    this.connection = client({ name: 'test editor' })
      .onRequest(
        methods.client.session.requestPermission,
        ({ params, signal }) =>
          new Promise<RequestPermissionResponse>((resolve) => {
            const choose = (optionId: string) => resolve({ outcome: { outcome: 'selected', optionId } });
            const dismiss = () => resolve({ outcome: { outcome: 'cancelled' } });
            signal.addEventListener('abort', dismiss, { once: true });
            this.asked.push({ request: params, signal, choose, dismiss });
          }),
      )
      .onRequest(methods.client.fs.readTextFile, ({ params: { path } }) => ({
        content: this.unsaved?.get(path) ?? readFileSync(path, 'utf8'),
      }))
      .onRequest(methods.client.fs.writeTextFile, ({ params: { path, content } }) => {
        this.unsaved?.delete(path); // written into the buffer and saved
        writeFileSync(path, content);
        return {};
      })
      .onRequest(methods.client.elicitation.create, ({ params }) => {
        this.forms.push(params);
        return this.formAnswer ?? { action: 'cancel' };
      })
      .onNotification(methods.client.session.update, ({ params }) => {
        this.updates.push(params.update);
      })
      .connect(theirs);
  }

  get agent(): ClientConnection['agent'] {
    return this.connection.agent;
  }

  /** What the agent has said. */
  get said(): string {
    return this.updates
      .flatMap((update) =>
        update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text'
          ? [update.content.text]
          : [],
      )
      .join('');
  }

  /** The titles that a call had, in order. */
  titles(toolCallId: string): string[] {
    return this.updates.flatMap((update) =>
      (update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update') &&
      update.toolCallId === toolCallId &&
      update.title
        ? [update.title]
        : [],
    );
  }

  initialize(terminal = false) {
    return this.agent.request(methods.agent.initialize, {
      protocolVersion: 1,
      clientInfo: { name: 'test', title: 'Test editor', version: '1' },
      clientCapabilities: {
        auth: { terminal },
        ...(this.unsaved && { fs: { readTextFile: true, writeTextFile: true } }),
        ...(this.formAnswer && { elicitation: { form: {} } }),
      },
    });
  }

  async newSession(cwd: string): Promise<string> {
    return (await this.agent.request(methods.agent.session.new, { cwd, mcpServers: [] })).sessionId;
  }

  prompt(sessionId: string, text: string): Promise<PromptResponse> {
    const prompt = [{ type: 'text' as const, text }];
    return this.agent.request(methods.agent.session.prompt, { sessionId, prompt });
  }

  /** The n-th question that was asked, counted from 0. */
  async question(n: number): Promise<Asked> {
    const start = performance.now();
    while (this.asked.length <= n) {
      if (performance.now() - start > 120_000)
        throw new Error(`Not asked: ${JSON.stringify(this.updates)} ${this.terminal.error()}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return this.asked[n] as Asked;
  }

  async close(): Promise<void> {
    this.connection.close();
    await this.#agent.close();
  }
}

function pipes(): [Stream, Stream] {
  const there = new TransformStream<AnyMessage>();
  const back = new TransformStream<AnyMessage>();
  return [
    { readable: there.readable, writable: back.writable },
    { readable: back.readable, writable: there.writable },
  ];
}
