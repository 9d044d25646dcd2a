import type { Caller, ExecutionRow, Reading, SessionRow, Unit } from '@countersign/engine';

/**
 * The latest call of a session in which this token works alone, or the session itself where nothing was called yet.
 * Undefined where somebody else has spoken or called something: what was granted in a session counts for who works in it
 * (AP-4), so neither the person's conversation nor the session of another agent is this one's.
 */
export function* latestWork(
  tx: Reading,
  session: SessionRow,
  { userId, tokenId }: Caller,
): Unit<ExecutionRow | SessionRow | undefined> {
  if (session.last_message_at !== null) return undefined;
  const [latest] = yield* tx.history(userId, { sessionId: session.id, limit: 1 });
  if (!latest) return session;
  return latest.requested_by === tokenId ? latest : undefined;
}
