import { ApiError, type Client, openStream } from '@countersign/client';
import type { EventPayload, Execution } from '@countersign/protocol';
import type { Words } from './words.ts';

export interface UndoOutcome {
  readonly tool_id: string;
  readonly undo_id: string | null;
  readonly status: 'completed' | 'failed' | 'cancelled' | 'no_answer';
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The undoable calls of a run, newest first, because changes must be undone in reverse order. */
export async function callsOfRun(client: Client, run_id: string): Promise<Execution[]> {
  const found: Execution[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { run_id, limit: 200, ...(cursor !== undefined && { cursor }) };
    const { executions, next_cursor } = await client.history({ query });
    found.push(...executions.filter(({ undoable, undone_at }) => undoable && undone_at === null));
    if (next_cursor === null) return found;
    cursor = next_cursor;
  }
}

/** Requests the undo and waits for its outcome. Opens the stream first, so that it cannot miss the outcome. */
export async function undoThroughServer(
  client: Client,
  { tool_id, project_id }: Execution,
  force: boolean,
  seconds: number,
  noAnswer: Words['undo']['noAnswer'],
): Promise<UndoOutcome> {
  const results: EventPayload<'tool.result'>[] = [];
  let wake = () => {};
  let isOpen = false;
  const stream = openStream({
    client,
    projectId: project_id,
    onEvent: ({ event, data }) => {
      if (event === 'tool.result' && data.tool_id === tool_id) results.push(data);
      wake();
    },
    onState: ({ status }) => {
      isOpen = status === 'open';
      wake();
    },
  });
  const deadline = performance.now() + seconds * 1000;
  const until = async (holds: () => boolean): Promise<boolean> => {
    while (!holds()) {
      const left = deadline - performance.now();
      if (left <= 0 || stream.state.status === 'closed') return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return true;
  };
  try {
    await until(() => isOpen);
    const { undo_id } = await client.undoExecution({ params: { tool_id }, body: { force } });
    const found = () => results.find((result) => result.undo_id === undo_id);
    await until(() => found() !== undefined);
    const result = found();
    if (result)
      return { tool_id, undo_id, status: result.status as UndoOutcome['status'], error: result.error };
    const error = { code: 'UNAVAILABLE', message: noAnswer(seconds) };
    return { tool_id, undo_id, status: 'no_answer', error };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    const { code, message } = error;
    return { tool_id, undo_id: null, status: 'failed', error: { code, message } };
  } finally {
    stream.close();
  }
}
