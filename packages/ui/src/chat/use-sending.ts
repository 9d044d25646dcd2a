import { type CallInput, type CallResponse, resendMessage } from '@countersign/client';
import { messageOf } from '@countersign/protocol';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import type { Conversation } from '../live/conversation.ts';
import { useLive } from '../live/live-context.ts';
import { keys } from '../queries/keys.ts';

interface SendingInput {
  readonly projectId: string;
  readonly sessionId: string | null;
  readonly conversation: Conversation | undefined;
  readonly model: CallResponse<'getModel'> | undefined;
  /** Called with the conversation before each message. If it throws, the message is not sent. */
  beforeMessage(sessionId: string): Promise<void>;
  /** Called with the conversation that the first message created. */
  onSession(sessionId: string): void;
}

/** What becomes of a message that is sent while the agent works (AG-5). */
export type WhenBusy = Exclude<NonNullable<CallInput<'sendMessage'>['body']['when_busy']>, 'refuse'>;

/** Sends messages, creates conversations and stops runs. */
export function useSending(input: SendingInput) {
  const { projectId, sessionId, conversation, model, beforeMessage, onSession } = input;
  const { client, conversations } = useLive();
  const queries = useQueryClient();
  const [isSending, setSending] = useState(false);
  const [isStopping, setStopping] = useState(false);
  const [sent, setSent] = useState(0);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [suggested, setSuggested] = useState({ text: '', count: 0 });
  const runId = conversation && conversation.agent !== 'idle' ? conversation.runId : null;
  const params = { project_id: projectId };

  const suggest = useCallback(
    (text: string) => setSuggested(({ count }) => ({ text, count: count + 1 })),
    [],
  );

  /** Creates a conversation. Its title is the first line of its first message. */
  const createSession = async (content: string): Promise<string> => {
    const title = (content.split('\n', 1)[0] ?? '').slice(0, 80);
    const { session } = await client.createSession({ params, body: { title } });
    await queries.invalidateQueries({ queryKey: keys.sessions(projectId) });
    return session.session_id;
  };

  /** Runs one request that sends a message. Resolves with whether it was sent; a problem is said at the composer. */
  const attempt = async (
    content: string,
    request: (sessionId: string, model: { readonly model?: string }) => Promise<CallResponse<'sendMessage'>>,
  ): Promise<boolean> => {
    setSending(true);
    setProblem(null);
    try {
      const session_id = sessionId ?? (await createSession(content));
      // A model without a key would refuse; the manual model accepts typed tool calls.
      const otherModel = (model?.problem ?? null) === null ? {} : { model: 'manual' };
      await beforeMessage(session_id);
      const { queued } = await request(session_id, otherModel);
      // The agent works and this page has not heard of it: read the conversation again, so that Stop is shown.
      if (queued && runId === null) await conversations.read({ projectId, sessionId: session_id });
      if (sessionId === null) onSession(session_id);
      setSent((count) => count + 1);
      return true;
    } catch (error) {
      setProblem({ sessionId, error });
      return false;
    } finally {
      setSending(false);
    }
  };

  const send = (content: string, when_busy: WhenBusy = 'queue'): Promise<boolean> =>
    attempt(content, (session_id, otherModel) =>
      client.sendMessage({ params, body: { content, session_id, when_busy, ...otherModel } }),
    );
  /** Goes back to before a message and sends this text instead. */
  const resend = (messageId: string, content: string): Promise<boolean> =>
    attempt(content, (session_id, otherModel) =>
      resendMessage(client, { projectId, sessionId: session_id, messageId, content, ...otherModel }),
    );

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
    resend,
    stop: runId === null ? null : () => void stop(runId),
    isSending,
    sent,
    isStopping,
    problem: problem && problemText(problem, sessionId),
    suggested,
    suggest,
  };
}

/** Why a message was not sent or a run not stopped, and in which conversation. */
interface Problem {
  readonly sessionId: string | null;
  readonly error: unknown;
}

/** The problem's text; null in another conversation. */
function problemText({ sessionId, error }: Problem, current: string | null): string | null {
  if (sessionId !== current) return null;
  return messageOf(error);
}

/**
 * The React key of the composer. Each conversation has its own, so that a draft is not sent elsewhere. A new
 * conversation keeps the composer it was started in, with its focus and text.
 */
export function useComposerKey(sessionId: string | null) {
  const [state, setState] = useState<ComposerState>({ sessionId, key: 0, startedSession: null });
  if (state.sessionId !== sessionId) {
    const isSame = state.sessionId === null && state.startedSession === sessionId;
    setState({ sessionId, key: isSame ? state.key : state.key + 1, startedSession: null });
  }
  return {
    key: `composer ${state.key}`,
    /** Sets the conversation that this composer's first message has created. */
    started: (startedSession: string) => setState((known) => ({ ...known, startedSession })),
  };
}

interface ComposerState {
  readonly sessionId: string | null;
  readonly key: number;
  readonly startedSession: string | null;
}
