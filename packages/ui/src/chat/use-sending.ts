import { ApiError, type CallResponse } from '@countersign/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Conversation } from '../live/conversation.ts';
import { useLive } from '../live/live-context.ts';
import { keys } from '../queries/keys.ts';

interface SendingInput {
  readonly projectId: string;
  readonly sessionId: string | null;
  readonly conversation: Conversation | undefined;
  readonly model: CallResponse<'getModel'> | undefined;
  /** Called with the conversation that the first message created. */
  onSession(sessionId: string): void;
}

/** Sends messages, creates conversations and stops runs. */
export function useSending({ projectId, sessionId, conversation, model, onSession }: SendingInput) {
  const { client, conversations } = useLive();
  const queries = useQueryClient();
  const [isSending, setSending] = useState(false);
  const [isStopping, setStopping] = useState(false);
  const [sent, setSent] = useState(0);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [suggested, setSuggested] = useState({ text: '', count: 0 });
  const runId = conversation && conversation.agent !== 'idle' ? conversation.runId : null;
  const params = { project_id: projectId };

  /** A new conversation is named by its first words. */
  const begin = async (content: string): Promise<string> => {
    const title = (content.split('\n', 1)[0] ?? '').slice(0, 80);
    const { session } = await client.createSession({ params, body: { title } });
    await queries.invalidateQueries({ queryKey: keys.sessions(projectId) });
    return session.session_id;
  };

  const send = async (content: string): Promise<boolean> => {
    setSending(true);
    setProblem(null);
    try {
      const session_id = sessionId ?? (await begin(content));
      // Without a key the model would refuse; the manual model takes typed tool calls.
      const named = (model?.problem ?? null) === null ? {} : { model: 'manual' };
      await client.sendMessage({ params, body: { content, session_id, ...named } });
      if (sessionId === null) onSession(session_id);
      setSent((count) => count + 1);
      return true;
    } catch (error) {
      // This page does not know the active run: reload the conversation, which also shows Stop.
      if (isRunActive(error) && sessionId !== null) await conversations.read({ projectId, sessionId });
      setProblem({ sessionId, error });
      return false;
    } finally {
      setSending(false);
    }
  };

  const stop = async (run_id: string): Promise<void> => {
    setStopping(true);
    setProblem(null);
    try {
      await client.stopRun({ params: { run_id } }, { retry: { times: 3 } });
    } catch (error) {
      setProblem({ sessionId, error });
    } finally {
      setStopping(false);
    }
  };

  return {
    send,
    stop: runId === null ? null : () => void stop(runId),
    isSending,
    sent,
    isStopping,
    problem: problem && problemText(problem, { sessionId, isAtWork: runId !== null }),
    suggested,
    suggest: (text: string) => setSuggested(({ count }) => ({ text, count: count + 1 })),
  };
}

/** Why something was not sent or stopped, and in which conversation. */
interface Problem {
  readonly sessionId: string | null;
  readonly error: unknown;
}

/** The problem's text; null in another conversation, or if the active run has ended. */
function problemText(
  { sessionId, error }: Problem,
  here: { readonly sessionId: string | null; readonly isAtWork: boolean },
): string | null {
  if (sessionId !== here.sessionId || (isRunActive(error) && !here.isAtWork)) return null;
  return error instanceof Error ? error.message : String(error);
}

const isRunActive = (error: unknown): boolean => error instanceof ApiError && error.code === 'RUN_ACTIVE';

/**
 * The React key of the composer. Each conversation has its own, so that a draft is not sent elsewhere. A new
 * conversation keeps the composer it was started in, with its focus and text.
 */
export function useComposerKey(sessionId: string | null) {
  const [place, setPlace] = useState<Place>({ sessionId, key: 0, begun: null });
  if (place.sessionId !== sessionId) {
    const goesOn = place.sessionId === null && place.begun === sessionId;
    setPlace({ sessionId, key: goesOn ? place.key : place.key + 1, begun: null });
  }
  return {
    key: `composer ${place.key}`,
    /** Names the conversation that this composer's message has started. */
    begins: (begun: string) => setPlace((known) => ({ ...known, begun })),
  };
}

interface Place {
  readonly sessionId: string | null;
  readonly key: number;
  readonly begun: string | null;
}
