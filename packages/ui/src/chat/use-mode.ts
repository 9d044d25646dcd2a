import { ApiError } from '@countersign/client';
import type { Session, SessionMode } from '@countersign/protocol';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useLive } from '../live/live-context.ts';
import { keys } from '../queries/keys.ts';
import { useSessions } from '../queries/workspace.ts';

/**
 * A switch to a mode that lets more through takes effect after the choice has rested this long: keys that pass through
 * such a mode on the way to another one must not release what waits. A switch to a stricter mode takes effect at once.
 */
const restMs = 600;

/** From what lets most through to what lets least through. */
const byStrictness: readonly SessionMode[] = ['accept_edits', 'ask', 'read_only'];

interface Wanted {
  /** Null: the conversation does not exist yet. */
  readonly sessionId: string | null;
  readonly mode: SessionMode;
  /** The conversation that was begun with this choice. */
  readonly begun?: string;
}

/** The mode of a conversation, and how it is switched (AP-11). */
export function useMode(projectId: string, sessionId: string | null) {
  const { client, clock } = useLive();
  const queries = useQueryClient();
  const sessions = useSessions(projectId);
  const stored = sessions.data?.find(({ session_id }) => session_id === sessionId)?.mode ?? 'ask';
  const [wanted, setWanted] = useState<Wanted | null>(null);
  if (wanted?.begun !== undefined && wanted.begun === sessionId && wanted.mode === stored) setWanted(null);
  const [problem, setProblem] = useState<string | null>(null);
  /** Switches are sent one after the other, so that the last choice is the one that stays. */
  const sending = useRef<Promise<unknown>>(Promise.resolve());
  /** The switch that was sent last, until the server has answered. */
  const underWay = useRef<{ readonly sessionId: string; readonly saved: Promise<void> } | null>(null);
  const resting = useRef<{ readonly wanted: Wanted; cancel(): void } | null>(null);

  /** Sends a switch to the server. Throws what the server refused. */
  const save = (session_id: string, mode: SessionMode): Promise<void> => {
    const saved = sending.current.then(() => send(session_id, mode));
    const sent = { sessionId: session_id, saved };
    underWay.current = sent;
    sending.current = saved
      .catch(() => {})
      .finally(() => {
        if (underWay.current === sent) underWay.current = null;
      });
    return saved;
  };

  const send = async (session_id: string, mode: SessionMode): Promise<void> => {
    const { session } = await client.changeSession({ params: { session_id }, body: { mode } });
    queries.setQueryData<readonly Session[]>(keys.sessions(projectId), (known) =>
      known?.map((one) => (one.session_id === session_id ? { ...one, mode: session.mode } : one)),
    );
    setWanted((now) =>
      now?.mode !== mode ? now : now.sessionId === null ? { ...now, begun: session_id } : null,
    );
  };

  const choose = (mode: SessionMode): void => {
    resting.current?.cancel();
    resting.current = null;
    setProblem(null);
    setWanted({ sessionId, mode });
    if (sessionId === null) return; // saved with the conversation's first message
    const switchNow = () => {
      resting.current = null;
      save(sessionId, mode).catch((error: unknown) => {
        setWanted(null);
        setProblem(error instanceof ApiError ? error.message : String(error));
      });
    };
    if (byStrictness.indexOf(mode) > byStrictness.indexOf(stored)) {
      switchNow();
      return;
    }
    const cancel = clock.after(restMs, switchNow);
    resting.current = { wanted: { sessionId, mode }, cancel };
  };

  return {
    mode: wanted && (wanted.sessionId === sessionId || wanted.begun === sessionId) ? wanted.mode : stored,
    problem,
    choose,
    /** Saves what was chosen for this conversation, before its next message. Throws if that is refused. */
    settle: async (session_id: string): Promise<void> => {
      const isNew = wanted !== null && wanted.sessionId === null && sessionId === null;
      const chosen = isNew ? wanted : (resting.current?.wanted ?? null);
      resting.current?.cancel();
      resting.current = null;
      if (chosen !== null && (isNew || chosen.sessionId === session_id)) await save(session_id, chosen.mode);
      else if (underWay.current?.sessionId === session_id) await underWay.current.saved;
    },
  };
}
