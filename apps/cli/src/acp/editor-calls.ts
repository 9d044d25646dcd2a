import type { SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk';
import { callTitle } from '@countersign/approvals';
import type { Client } from '@countersign/client';
import {
  type CountersignEvent,
  type EventPayload,
  type ExecutionStatus,
  type JsonValue,
  type Message,
  readModelResult,
} from '@countersign/protocol';
import { withWholeResult } from '../call-results.ts';
import type { Words } from '../words.ts';
import { CallChanges } from './call-changes.ts';
import {
  acpStatusOf,
  changeContent,
  kindOf,
  locationsOf,
  outputContent,
  resultContent,
  textContent,
} from './tool-call-view.ts';

export interface EditorCallsDeps {
  readonly client: Pick<Client, 'getExecution' | 'runChanges'>;
  readonly root: string;
  readonly words: Words;
  /** Sends updates in the order in which they are given. */
  readonly update: (update: SessionUpdate | Promise<SessionUpdate>) => void;
}

interface ShownCall {
  readonly toolName: string;
  readonly params: Readonly<Record<string, JsonValue>>;
  readonly runId: string | null;
  /** The end of what the call has printed so far. */
  output: string;
  /** True once a card has shown the change as a diff. */
  wasAsked: boolean;
}

/** Of a running call's output, only this many characters at its end are shown. */
const OUTPUT_SHOWN = 4_000;

/** The tool calls of one conversation in an editor: each with a title in the tense of its state, and its result. */
export class EditorCalls {
  readonly #deps: EditorCallsDeps;
  readonly #calls = new Map<string, ShownCall>();
  readonly #changes: CallChanges;
  /** Changes are looked up one after the other. */
  #looking: Promise<unknown> = Promise.resolve();

  constructor(deps: EditorCallsDeps) {
    this.#deps = deps;
    this.#changes = new CallChanges(deps.client, deps.root);
  }

  receive(event: CountersignEvent): void {
    switch (event.event) {
      case 'tool.call': {
        const { tool_id, tool_name, tool_params, status, context } = event.data;
        if (status === 'pending' || !this.#calls.has(tool_id))
          this.#begin(tool_id, tool_name, tool_params, status, context.run_id);
        else this.#show(tool_id, status);
        return;
      }
      case 'tool.approval_request': {
        const call = this.#calls.get(event.data.tool_id);
        if (call) call.wasAsked = true;
        return;
      }
      case 'approval.resolved': {
        const { tool_id, status } = event.data;
        this.#show(tool_id, status === 'approved' ? 'executing' : status);
        return;
      }
      case 'tool.progress':
        this.#showOutput(event.data);
        return;
      case 'tool.result':
        if (event.data.undo_id === undefined) this.#end(event);
    }
  }

  /** Shows the calls of a stored message, or the result that a stored tool message holds. */
  replay(
    { tool_calls = [], role, tool_id, content }: Message,
    statuses: ReadonlyMap<string, ExecutionStatus>,
  ): void {
    for (const call of tool_calls)
      if (call.tool_id !== null)
        this.#begin(
          call.tool_id,
          call.tool_name,
          call.tool_params,
          statuses.get(call.tool_id) ?? 'completed',
        );
    const known = role === 'tool' && tool_id !== undefined ? this.#calls.get(tool_id) : undefined;
    const ended = known && storedResult(content);
    if (!ended || tool_id === undefined) return;
    const { toolName, params } = known;
    const shown = resultContent(toolName, params, ended, this.#deps.words);
    this.#show(tool_id, statuses.get(tool_id) ?? ended.status, shown ?? this.#change(known));
    this.#calls.delete(tool_id);
  }

  #begin(
    toolId: string,
    toolName: string,
    params: ShownCall['params'],
    status: ExecutionStatus,
    runId: string | null = null,
  ): void {
    const { root, update } = this.#deps;
    this.#calls.set(toolId, { toolName, params, runId, output: '', wasAsked: false });
    update({
      sessionUpdate: 'tool_call',
      toolCallId: toolId,
      title: this.#title(toolName, params, status),
      name: toolName,
      kind: kindOf(toolName),
      status: acpStatusOf(status),
      locations: locationsOf(root, params),
    });
  }

  #show(toolCallId: string, status: ExecutionStatus, content?: ToolCallContent[]): void {
    const call = this.#calls.get(toolCallId);
    this.#deps.update({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: acpStatusOf(status),
      ...(call && { title: this.#title(call.toolName, call.params, status) }),
      ...(content && { content }),
    });
  }

  /**
   * Shows the output so far, then the progress. A message that comes with output only repeats that output. Content
   * replaces content, so progress alone must not take the place of the diff that the person approved.
   */
  #showOutput({ tool_id, progress, message, output }: EventPayload<'tool.progress'>): void {
    const call = this.#calls.get(tool_id);
    const printed = `${call?.output ?? ''}${output?.chunk ?? ''}`.slice(-OUTPUT_SHOWN);
    if (call) call.output = printed;
    const state = [
      ...(progress === null ? [] : [`${Math.round(progress)}%`]),
      ...(message === null ? [] : [this.#deps.words.said(message)]),
    ].join(' · ');
    const shown = output === null && state !== '' ? `${printed}${state}\n` : printed;
    const content = shown === printed ? outputContent(shown) : textContent(shown);
    this.#show(tool_id, 'executing', call?.wasAsked && printed === '' ? undefined : [content]);
  }

  #end(event: CountersignEvent & { event: 'tool.result' }): void {
    const { client, update, words } = this.#deps;
    const { tool_id, tool_name, status } = event.data;
    const unknown = { toolName: tool_name, params: {}, runId: null, output: '', wasAsked: true };
    const call: ShownCall = this.#calls.get(tool_id) ?? unknown;
    this.#calls.delete(tool_id);
    const ended = this.#looking.then(async () => {
      const { result, ...data } = (await withWholeResult(client, event)).data as typeof event.data;
      const content = resultContent(tool_name, call.params, { ...data, result }, words);
      const change = call.runId === null ? undefined : await this.#changes.of(call.runId, tool_id, result);
      // The output of a command replaces its card, also the diffs of a trial.
      const shown = content
        ? [...content, ...(change?.content ?? [])]
        : call.wasAsked
          ? undefined
          : (change?.content ?? this.#change(call));
      return {
        sessionUpdate: 'tool_call_update',
        toolCallId: tool_id,
        status: acpStatusOf(status),
        title: this.#title(tool_name, call.params, status),
        ...(shown && { content: shown }),
        ...(shown && change && { locations: change.locations }),
      } satisfies SessionUpdate;
    });
    this.#looking = ended.catch(() => {});
    update(ended);
  }

  #change({ toolName, params }: ShownCall): ToolCallContent[] | undefined {
    return changeContent(toolName, params, this.#deps.root);
  }

  #title(toolName: string, params: ShownCall['params'], status: ExecutionStatus): string {
    return callTitle({ toolName, params, status }, this.#deps.words.calls);
  }
}

/** The result in a stored tool message; undefined if it was cut or has another format. */
function storedResult(content: string) {
  const ended = readModelResult(content);
  if (ended === undefined) return undefined;
  if (ended.status === 'rejected') return { status: 'rejected' as const, result: null, error: null };
  if (ended.status === 'success') return { status: 'completed' as const, result: ended.result, error: null };
  return { status: 'failed' as const, result: ended.result ?? null, error: ended.error };
}
