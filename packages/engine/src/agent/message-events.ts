import type { JsonValue, Message } from '@countersign/protocol';
import { type EventData, isoTime, makeEvent, type ServerEvent } from '../record/make-event.ts';
import { fits } from '../record/shown-size.ts';
import type { MessageRow, RunRow } from '../rows.ts';
import { toolCallsOf } from './stored-tool-call.ts';

export type AgentState = EventData<'agent.state'>['state'];

/** Where a run's events belong. */
export interface RunPlace {
  readonly runId: string;
  readonly projectId: string;
  readonly sessionId: string;
}

/** A message as clients get it; `model` is that of its run. */
export function messageView(row: MessageRow, model: string | undefined): Message {
  const calls = toolCallsOf(row);
  return {
    message_id: row.id,
    session_id: row.session_id,
    run_id: row.run_id,
    ...(model !== undefined && { model }),
    role: row.role,
    content: row.content,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ tool_call_id, tool_id, tool_name, tool_params }) => ({
        tool_call_id,
        tool_id,
        tool_name,
        tool_params: tool_params as Record<string, JsonValue>,
      })),
    }),
    ...(row.tool_id !== null && { tool_id: row.tool_id }),
    complete: row.complete,
    created_at: isoTime(row.created_at),
  };
}

/** A message of a run, as it is now. */
export const messageCreatedEvent = (
  row: MessageRow,
  { project_id, model }: Pick<RunRow, 'project_id' | 'model'>,
  now: number,
): ServerEvent =>
  makeEvent('message.created', fit({ ...messageView(row, model), project_id, timestamp: isoTime(now) }));

export const stateEvent = (place: RunPlace, state: AgentState, now: number): ServerEvent =>
  makeEvent('agent.state', {
    project_id: place.projectId,
    session_id: place.sessionId,
    run_id: place.runId,
    state,
    timestamp: isoTime(now),
  });

/** At most this many UTF-16 units in one delta: six bytes each at worst, so that the event stays under 64 KB. */
const MAX_DELTA = 8_000;

/** The pieces of a text that was added to a message at `offset`. */
export function deltaEvents(place: RunPlace, messageId: string, offset: number, text: string): ServerEvent[] {
  const events: ServerEvent[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + MAX_DELTA, text.length);
    // The two halves of a character stay together.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    events.push(
      makeEvent('message.delta', {
        project_id: place.projectId,
        session_id: place.sessionId,
        message_id: messageId,
        offset: offset + start,
        text: text.slice(start, end),
      }),
    );
    start = end;
  }
  return events;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** Leaves out what is too large for an event; it is fetched with the message (EV-2). */
function fit(data: EventData<'message.created'>): EventData<'message.created'> {
  if (fits(data)) return data;
  const withoutContent = { ...data, content: '', omitted: ['content' as const] };
  if (fits(withoutContent) || !data.tool_calls) return withoutContent;
  return {
    ...withoutContent,
    tool_calls: data.tool_calls.map((call) => ({ ...call, tool_params: {} })),
    omitted: ['content', 'tool_params'],
  };
}
