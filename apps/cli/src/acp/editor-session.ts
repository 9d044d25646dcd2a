import {
  type AgentContext,
  type ClientCapabilities,
  methods,
  type PermissionOption,
  type PromptResponse,
  type SessionModeState,
  type SessionUpdate,
  type ToolCallUpdate,
} from '@agentclientprotocol/sdk';
import { askDeliberately } from '@countersign/approvals';
import { type Client, systemClock } from '@countersign/client';
import { type CountersignEvent, type Session, type SessionMode, sessionModes } from '@countersign/protocol';
import {
  type ConversationPlace,
  editorCommandNames,
  exportConversation,
  inputOf,
  readCommand,
  rename,
  switchMode,
  type TypedCommand,
  titleOfCall,
  undoableCalls,
  undoCalls,
} from '../chat/conversation-commands.ts';
import { RunFollower, storedMessages } from '../chat/run-follower.ts';
import { visible } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';
import { agentPlan } from './agent-plan.ts';
import { EditorApprovals } from './editor-approvals.ts';
import { EditorCalls } from './editor-calls.ts';
import { currentText, EditorFiles } from './editor-files.ts';
import { textContent } from './tool-call-view.ts';

export interface EditorSessionDeps {
  readonly session: Session;
  /** The folder that the editor has open. */
  readonly folder: string;
  /** The project's workspace: the folder, or one around it. */
  readonly root: string;
  readonly client: Client;
  readonly editor: AgentContext;
  /** What the editor can do; undefined if it has not said. */
  readonly capabilities: ClientCapabilities | undefined;
  readonly words: Words;
  readonly minimumMs?: number | undefined;
}

/** A prompt of the editor until the run that took its message has ended. */
interface Turn {
  /** Set once the server has accepted the message, if this turn reports the run. */
  follower: RunFollower | undefined;
  runId: string | undefined;
  /** Events that came before we knew the id of our run. */
  readonly early: CountersignEvent[];
  isCancelled: boolean;
}

/** One conversation in an editor: prompts go to the server; messages, calls and approvals go to the editor. */
export class EditorSession {
  /** The editor's own text of files. */
  readonly files: EditorFiles;
  readonly #deps: EditorSessionDeps;
  readonly #approvals: EditorApprovals;
  readonly #calls: EditorCalls;
  #mode: SessionMode;
  readonly #turns = new Set<Turn>();
  /** Sends messages in the order of their prompts. */
  #messages: Promise<unknown> = Promise.resolve();
  /** The message that the agent is writing. */
  #written = '';
  /** Sends updates in order. */
  #sending: Promise<void> = Promise.resolve();

  constructor(deps: EditorSessionDeps) {
    this.#deps = deps;
    const { client, root, words, minimumMs, session, editor, capabilities } = deps;
    this.#mode = session.mode;
    this.files = new EditorFiles(editor, session.session_id, capabilities);
    const update = (one: SessionUpdate | Promise<SessionUpdate>) => this.#update(one);
    this.#calls = new EditorCalls({ client, root, words, update });
    this.#approvals = new EditorApprovals({
      client,
      root,
      words,
      ...(minimumMs !== undefined && { minimumMs }),
      ask: (toolCall, options, signal) => this.#ask(toolCall, options, signal),
      show: (one) => this.#update({ sessionUpdate: 'tool_call_update', ...one }),
      say: (text) => this.#say(`\n${text}\n`),
      textOf: (path) => currentText(path, this.files),
      askMessage: capabilities?.elicitation?.form
        ? (toolCallId, signal) => this.#askMessage(toolCallId, signal)
        : undefined,
      stopRun: (runId) => this.#stop(runId),
    });
  }

  get folder(): string {
    return this.#deps.folder;
  }

  get modes(): SessionModeState {
    const { words } = this.#deps;
    return {
      currentModeId: this.#mode,
      availableModes: sessionModes.map((id) => ({
        id,
        name: words.modes[id].name,
        description: words.modes[id].means,
      })),
    };
  }

  /** Tells the editor which slash commands there are. */
  announceCommands(): void {
    const { words } = this.#deps;
    this.#update({
      sessionUpdate: 'available_commands_update',
      availableCommands: editorCommandNames.map((name) => {
        const hint = inputOf(name, words);
        return {
          name,
          description: words.commands.about[name],
          ...(hint !== undefined && { input: { hint } }),
        };
      }),
    });
  }

  /** Returns whether there is such a mode. The server keeps it, so that every front end shows the same. */
  async setMode(asked: string): Promise<boolean> {
    const mode = sessionModes.find((known) => known === asked);
    if (!mode) return false;
    const { client } = this.#deps;
    await client.changeSession({ params: { session_id: this.#sessionId }, body: { mode } });
    this.#showMode(mode);
    return true;
  }

  get isBusy(): boolean {
    return this.#turns.size > 0;
  }

  /**
   * Runs a slash command, or sends a message and reports what happens until the run that takes it has ended. While the
   * agent works, for this editor or another front end, the message is queued.
   */
  async prompt(content: string): Promise<PromptResponse> {
    const command = readCommand(content, editorCommandNames);
    if (command) return this.#runCommand(command);
    const turn: Turn = { follower: undefined, runId: undefined, early: [], isCancelled: false };
    this.#turns.add(turn);
    try {
      const sent = this.#messages.then(() => this.#send(content, turn));
      this.#messages = sent.catch(() => {});
      const follower = await sent;
      if (turn.isCancelled) await this.cancel();
      const run = await follower.ended;
      await this.#sending;
      return { stopReason: run.status === 'stopped' || turn.isCancelled ? 'cancelled' : 'end_turn' };
    } finally {
      this.#turns.delete(turn);
    }
  }

  /** Sends a message. Returns what follows its run: the turn's own follower, or that of the turn which reports the run. */
  async #send(content: string, turn: Turn): Promise<RunFollower> {
    const { client, words } = this.#deps;
    const { run_id, queued } = await client.sendMessage({
      params: { project_id: this.#projectId },
      body: { content, session_id: this.#sessionId, when_busy: 'queue' },
    });
    if (queued) this.#say(`\n${words.acp.queued}\n`);
    turn.runId = run_id;
    const reported = [...this.#turns].find(({ runId, follower }) => runId === run_id && follower)?.follower;
    if (reported) return reported;
    const follower = new RunFollower({
      client,
      projectId: this.#projectId,
      sessionId: this.#sessionId,
      runId: run_id,
      onLines: () => {},
      onText: (piece) => {
        this.#written += piece;
        this.#say(piece);
      },
      onMessageEnd: () => this.#showPlan(),
      onNotice: (text) => this.#say(`\n${words.said(text)}\n`),
      onState: () => {},
    });
    turn.follower = follower;
    for (const event of turn.early.splice(0)) follower.receive(event);
    return follower;
  }

  /** Shows a notice if a prompt is running. */
  tellWhileBusy(text: string): void {
    if (this.isBusy) this.#say(`\n${text}\n`);
  }

  /** Asks the server to stop the run. `prompt` returns once the run has ended. */
  async cancel(): Promise<void> {
    for (const turn of this.#turns) turn.isCancelled = true;
    const runs = new Set([...this.#turns].flatMap(({ runId }) => runId ?? []));
    for (const runId of runs) await this.#stopOnServer(runId);
  }

  receive(event: CountersignEvent): void {
    if (event.event === 'session.changed' && event.data.session.session_id === this.#sessionId)
      this.#showMode(event.data.session.mode);
    if (event.event !== 'stream.reset' && !this.#isOurs(event)) return;
    this.#calls.receive(event);
    this.#approvals.receive(event);
    for (const { follower, runId, early } of this.#turns) {
      if (follower) follower.receive(event);
      else if (runId === undefined) early.push(event);
    }
  }

  /** Sends the stored conversation to an editor that opens it again. */
  async replay(): Promise<void> {
    const { client } = this.#deps;
    const { executions } = await client.history({ query: { session_id: this.#sessionId, limit: 200 } });
    const statuses = new Map(executions.map(({ tool_id, status }) => [tool_id, status]));
    for await (const message of storedMessages(client, this.#projectId, this.#sessionId)) {
      const { role, content, rewound } = message;
      if (rewound) continue;
      if (role === 'user' && content !== '') this.#chunk('user_message_chunk', content);
      if (role === 'assistant' && content !== '') this.#say(content);
      this.#calls.replay(message, statuses);
    }
    await this.#sending;
    const { approvals } = await client.listApprovals();
    this.#approvals.resume(approvals.filter(({ session_id }) => session_id === this.#sessionId));
  }

  dispose(): void {
    this.#approvals.dispose();
  }

  get #sessionId(): string {
    return this.#deps.session.session_id;
  }

  get #projectId(): string {
    return this.#deps.session.project_id;
  }

  async #runCommand({
    name,
    rest,
  }: TypedCommand<(typeof editorCommandNames)[number]>): Promise<PromptResponse> {
    const { client, words, folder } = this.#deps;
    const place = { client, words, folder, projectId: this.#projectId, sessionId: this.#sessionId };
    const run = {
      mode: () => switchMode(place, rest),
      rename: () => rename(place, rest),
      export: () => exportConversation(place, rest),
      undo: () => this.#undo(place),
    };
    this.#say(`${await run[name]()}\n`);
    await this.#sending;
    return { stopReason: 'end_turn' };
  }

  /** Lists what would be put back, and puts it back if the person says so. */
  async #undo(place: ConversationPlace): Promise<string> {
    const { words } = this.#deps;
    const calls = await undoableCalls(place);
    if (calls.length === 0) return words.commands.nothingToUndo;
    const toolCall = {
      toolCallId: `undo-${calls[0]?.tool_id}`,
      title: words.acp.askUndo(calls.length),
      kind: 'edit',
      status: 'pending',
      content: [textContent(calls.map((call) => titleOfCall(call, words)).join('\n'))],
    } satisfies ToolCallUpdate;
    this.#update({ sessionUpdate: 'tool_call', ...toolCall });
    const options: PermissionOption[] = [
      { optionId: 'undo', name: words.acp.undo, kind: 'allow_once' },
      { optionId: 'keep', name: words.acp.keep, kind: 'reject_once' },
    ];
    const chosen = await askDeliberately(() => this.#ask(toolCall, options, new AbortController().signal), {
      clock: systemClock,
      decides: (id) => id === 'undo',
      onTooSoon: () => this.#say(`\n${words.acp.tooQuick}\n`),
      ms: this.#deps.minimumMs,
    });
    const told = chosen === 'undo' ? await undoCalls(place, calls) : words.commands.kept;
    const status = chosen === 'undo' ? 'completed' : 'failed';
    this.#update({ sessionUpdate: 'tool_call_update', toolCallId: toolCall.toolCallId, status });
    return told;
  }

  #showMode(mode: SessionMode): void {
    if (mode === this.#mode) return;
    this.#mode = mode;
    this.#update({ sessionUpdate: 'current_mode_update', currentModeId: mode });
  }

  #showPlan(): void {
    const entries = agentPlan(this.#written);
    this.#written = '';
    if (entries) this.#update({ sessionUpdate: 'plan', entries });
  }

  /** Stops a run, which may be one that another front end has started. */
  async #stop(runId: string | null): Promise<void> {
    if ([...this.#turns].some((turn) => (turn.runId ?? runId) === runId)) return this.cancel();
    if (runId !== null) await this.#stopOnServer(runId);
  }

  async #stopOnServer(run_id: string): Promise<void> {
    await this.#deps.client.stopRun({ params: { run_id } }, { retry: { times: 3 } });
  }

  #isOurs({ data }: CountersignEvent): boolean {
    return 'session_id' in data && data.session_id === this.#sessionId;
  }

  async #ask(
    toolCall: ToolCallUpdate,
    options: PermissionOption[],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { editor } = this.#deps;
    await this.#sending;
    try {
      const { outcome } = await editor.request(
        methods.client.session.requestPermission,
        { sessionId: this.#sessionId, toolCall, options },
        { cancellationSignal: signal, stopWaitingOnCancel: true },
      );
      return outcome.outcome === 'selected' ? outcome.optionId : undefined;
    } catch {
      return undefined; // withdrawn, or the editor cannot ask: nothing was decided
    }
  }

  /** The person's words for the agent; undefined if they left the field. */
  async #askMessage(toolCallId: string, signal: AbortSignal): Promise<string | undefined> {
    const { editor, words } = this.#deps;
    const { messagePrompt, messageField } = words.acp;
    try {
      const answer = await editor.request(
        methods.client.elicitation.create,
        {
          mode: 'form',
          sessionId: this.#sessionId,
          toolCallId,
          message: messagePrompt,
          requestedSchema: {
            type: 'object',
            properties: { message: { type: 'string', title: messageField, maxLength: 2_000 } },
          },
        },
        { cancellationSignal: signal, stopWaitingOnCancel: true },
      );
      if (answer.action !== 'accept') return undefined;
      const { message } = (answer.content ?? {}) as { message?: unknown };
      return typeof message === 'string' ? message.trim() : '';
    } catch {
      return undefined;
    }
  }

  #say(text: string): void {
    this.#chunk('agent_message_chunk', text);
  }

  #chunk(sessionUpdate: 'agent_message_chunk' | 'user_message_chunk', text: string): void {
    this.#update({ sessionUpdate, content: { type: 'text', text: visible(text) } });
  }

  #update(update: SessionUpdate | Promise<SessionUpdate>): void {
    const { editor } = this.#deps;
    this.#sending = this.#sending
      .then(async () =>
        editor.notify(methods.client.session.update, { sessionId: this.#sessionId, update: await update }),
      )
      .catch(() => {}); // the editor is gone; its pending requests fail by themselves
  }
}
