import {
  type AgentContext,
  methods,
  type PermissionOption,
  type PromptResponse,
  type SessionModeState,
  type SessionUpdate,
  type ToolCallUpdate,
} from '@agentclientprotocol/sdk';
import type { Client } from '@countersign/client';
import type { CountersignEvent, EventPayload, JsonValue, Message } from '@countersign/protocol';
import { callWords } from '../call-line.ts';
import { RunFollower } from '../chat/run-follower.ts';
import { visible } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';
import type { AcpWords } from './acp-words.ts';
import { EditorApprovals } from './editor-approvals.ts';
import { acpStatusOf, kindOf, locationsOf, resultContent, textContent } from './tool-call-view.ts';

export interface EditorSessionDeps {
  readonly sessionId: string;
  readonly projectId: string;
  readonly root: string;
  readonly client: Client;
  readonly editor: AgentContext;
  readonly words: Words;
  readonly acpWords: AcpWords;
  readonly minimumMs?: number | undefined;
}

interface Turn {
  /** Set once the server took the message. */
  follower: RunFollower | undefined;
  runId: string | undefined;
  /** Events that came before we knew the id of our run. */
  readonly early: CountersignEvent[];
  isCancelled: boolean;
}

/** How many characters of a running call's output are shown: its end. */
const OUTPUT_SHOWN = 4_000;
const PAGE = 500;

/** One conversation in an editor: what the person says, what the agent does, what it asks. */
export class EditorSession {
  readonly #deps: EditorSessionDeps;
  readonly #approvals: EditorApprovals;
  /** What a call has printed so far. */
  readonly #output = new Map<string, string>();
  #mode: 'ask' | 'read_only' = 'ask';
  #turn: Turn | undefined;
  /** Sends updates in order. */
  #sending: Promise<void> = Promise.resolve();

  constructor(deps: EditorSessionDeps) {
    this.#deps = deps;
    const { client, root, words, acpWords, minimumMs } = deps;
    this.#approvals = new EditorApprovals({
      client,
      root,
      words,
      acpWords,
      ...(minimumMs !== undefined && { minimumMs }),
      ask: (toolCall, options, signal) => this.#ask(toolCall, options, signal),
      show: (update) => this.#update({ sessionUpdate: 'tool_call_update', ...update }),
      say: (text) => this.#say(`\n${text}\n`),
      isReadOnly: () => this.#mode === 'read_only',
      stopRun: (runId) => this.#stop(runId),
    });
  }

  get modes(): SessionModeState {
    const { acpWords } = this.#deps;
    return {
      currentModeId: this.#mode,
      availableModes: [
        { id: 'ask', name: acpWords.ask, description: acpWords.askAbout },
        { id: 'read_only', name: acpWords.readOnly, description: acpWords.readOnlyAbout },
      ],
    };
  }

  /** Returns whether there is such a mode. Read-only revokes what the person granted in this conversation. */
  async setMode(mode: string): Promise<boolean> {
    if (mode !== 'ask' && mode !== 'read_only') return false;
    this.#mode = mode;
    this.#update({ sessionUpdate: 'current_mode_update', currentModeId: mode });
    if (mode === 'read_only') {
      this.#approvals.reconsider();
      await this.#revokeGrants();
    }
    return true;
  }

  get isBusy(): boolean {
    return this.#turn !== undefined;
  }

  /** Sends a message and reports what happens until the run has ended. */
  async prompt(content: string): Promise<PromptResponse> {
    const { client, projectId, sessionId } = this.#deps;
    const turn: Turn = { follower: undefined, runId: undefined, early: [], isCancelled: false };
    this.#turn = turn;
    try {
      const params = { project_id: projectId };
      const { run_id } = await client.sendMessage({ params, body: { content, session_id: sessionId } });
      const follower = new RunFollower({
        client,
        projectId,
        sessionId,
        runId: run_id,
        onLines: () => {},
        onText: (piece) => this.#say(piece),
        onNotice: (text) => this.#say(`\n${text}\n`),
        onState: () => {},
      });
      turn.runId = run_id;
      turn.follower = follower;
      for (const event of turn.early.splice(0)) follower.receive(event);
      if (turn.isCancelled) await this.cancel();
      const run = await follower.ended;
      await this.#sending;
      return { stopReason: run.status === 'stopped' || turn.isCancelled ? 'cancelled' : 'end_turn' };
    } finally {
      this.#turn = undefined;
    }
  }

  /** Tells the waiting callers why there is no answer. */
  tellWhileBusy(text: string): void {
    if (this.isBusy) this.#say(`\n${text}\n`);
  }

  /** Stops the run; its prompt is answered once it has ended. */
  async cancel(): Promise<void> {
    const turn = this.#turn;
    if (!turn) return;
    turn.isCancelled = true;
    if (turn.runId === undefined) return;
    await this.#stopOnServer(turn.runId);
  }

  receive(event: CountersignEvent): void {
    if (event.event !== 'stream.reset' && !this.#isOurs(event)) return;
    this.#tellOfCall(event);
    this.#approvals.receive(event);
    const turn = this.#turn;
    if (turn?.follower) turn.follower.receive(event);
    else turn?.early.push(event);
  }

  /** The conversation so far, as an editor that opens it again shows it. */
  async replay(): Promise<void> {
    const { client, projectId, sessionId } = this.#deps;
    const { executions } = await client.history({ query: { session_id: sessionId, limit: 200 } });
    const statuses = new Map(executions.map(({ tool_id, status }) => [tool_id, status]));
    for (let cursor: string | undefined; ; ) {
      const query = { session_id: sessionId, limit: PAGE, ...(cursor !== undefined && { cursor }) };
      const page = await client.listMessages({ params: { project_id: projectId }, query });
      for (const message of page.messages) this.#replayOne(message, statuses);
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    await this.#sending;
    const { approvals } = await client.listApprovals();
    this.#approvals.resume(approvals.filter(({ session_id }) => session_id === sessionId));
  }

  dispose(): void {
    this.#approvals.dispose();
  }

  /** The run may be one that another front end has started. */
  async #stop(runId: string | null): Promise<void> {
    const turn = this.#turn;
    if (turn && (turn.runId ?? runId) === runId) return this.cancel();
    if (runId !== null) await this.#stopOnServer(runId);
  }

  async #stopOnServer(run_id: string): Promise<void> {
    await this.#deps.client.stopRun({ params: { run_id } }, { retry: { times: 3 } });
  }

  async #revokeGrants(): Promise<void> {
    const { client, sessionId, acpWords } = this.#deps;
    const { grants } = await client.listGrants();
    const ours = grants.filter(
      ({ session_id, revoked_at }) => session_id === sessionId && revoked_at === null,
    );
    for (const { grant_id } of ours) await client.revokeGrant({ params: { grant_id } });
    if (ours.length > 0) this.#say(`\n${acpWords.grantsRevoked(ours.length)}\n`);
  }

  #isOurs({ data }: CountersignEvent): boolean {
    return 'session_id' in data && data.session_id === this.#deps.sessionId;
  }

  #replayOne(message: Message, statuses: ReadonlyMap<string, Parameters<typeof acpStatusOf>[0]>): void {
    const { role, content, tool_calls = [] } = message;
    if (role === 'user' && content !== '') this.#chunk('user_message_chunk', content);
    if (role === 'assistant' && content !== '') this.#say(content);
    for (const { tool_id, tool_name, tool_params } of tool_calls) {
      if (tool_id === null) continue;
      this.#update({
        sessionUpdate: 'tool_call',
        ...this.#call(tool_id, tool_name, tool_params),
        status: acpStatusOf(statuses.get(tool_id) ?? 'completed'),
      });
    }
  }

  #tellOfCall({ event, data }: CountersignEvent): void {
    switch (event) {
      case 'tool.call':
        this.#update(
          data.status === 'pending'
            ? {
                sessionUpdate: 'tool_call',
                ...this.#call(data.tool_id, data.tool_name, data.tool_params),
                status: acpStatusOf(data.status),
              }
            : {
                sessionUpdate: 'tool_call_update',
                toolCallId: data.tool_id,
                status: acpStatusOf(data.status),
              },
        );
        return;
      case 'approval.resolved':
        this.#update({
          sessionUpdate: 'tool_call_update',
          toolCallId: data.tool_id,
          status: data.status === 'approved' ? 'in_progress' : 'failed',
        });
        return;
      case 'tool.progress':
        this.#tellOutput(data);
        return;
      case 'tool.result':
        if (data.undo_id === undefined) this.#tellResult(data);
    }
  }

  #tellResult(ended: EventPayload<'tool.result'>): void {
    const { tool_id, status } = ended;
    this.#output.delete(tool_id);
    const content = resultContent(ended, this.#deps.words);
    this.#update({
      sessionUpdate: 'tool_call_update',
      toolCallId: tool_id,
      status: acpStatusOf(status),
      ...(content && { content }),
    });
  }

  /** Shows the output so far, then the progress. A message that comes with output only repeats that output. */
  #tellOutput({ tool_id, progress, message, output }: EventPayload<'tool.progress'>): void {
    const printed = `${this.#output.get(tool_id) ?? ''}${output?.chunk ?? ''}`.slice(-OUTPUT_SHOWN);
    this.#output.set(tool_id, printed);
    const state = [
      ...(progress === null ? [] : [`${Math.round(progress)}%`]),
      ...(message === null ? [] : [this.#deps.words.said(message)]),
    ].join(' · ');
    const shown = output === null && state !== '' ? `${printed}${state}\n` : printed;
    this.#update({
      sessionUpdate: 'tool_call_update',
      toolCallId: tool_id,
      status: 'in_progress',
      content: [textContent(shown)],
    });
  }

  #call(toolId: string, tool: string, params: Readonly<Record<string, JsonValue>>) {
    const { root } = this.#deps;
    return {
      toolCallId: toolId,
      title: callWords(tool, params),
      name: tool,
      kind: kindOf(tool),
      locations: locationsOf(root, params),
    };
  }

  async #ask(
    toolCall: ToolCallUpdate,
    options: PermissionOption[],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { editor, sessionId } = this.#deps;
    await this.#sending;
    try {
      const { outcome } = await editor.request(
        methods.client.session.requestPermission,
        { sessionId, toolCall, options },
        { cancellationSignal: signal, stopWaitingOnCancel: true },
      );
      return outcome.outcome === 'selected' ? outcome.optionId : undefined;
    } catch {
      return undefined; // withdrawn, or the editor cannot ask: nothing was decided
    }
  }

  #say(text: string): void {
    this.#chunk('agent_message_chunk', text);
  }

  #chunk(sessionUpdate: 'agent_message_chunk' | 'user_message_chunk', text: string): void {
    this.#update({ sessionUpdate, content: { type: 'text', text: visible(text) } });
  }

  #update(update: SessionUpdate): void {
    const { editor, sessionId } = this.#deps;
    this.#sending = this.#sending
      .then(() => editor.notify(methods.client.session.update, { sessionId, update }))
      .catch(() => {}); // the editor is gone; its pending requests fail by themselves
  }
}
