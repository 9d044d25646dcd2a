import { pendingOf } from '@countersign/approvals';
import type { Session } from '@countersign/protocol';
import { links } from '../frame/links.ts';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { useSessions } from '../queries/workspace.ts';

/** Where "Chat" leads: to the conversation of this project that has waited longest, else to the latest, else to a new one. */
export function useChatHref(projectId: string | null): string {
  const { approvals } = useLive();
  const waiting = useObservable(
    approvals.entries,
    (entries) =>
      pendingOf(entries).find(({ approval }) => approval.project_id === projectId)?.approval.session_id,
  );
  const sessions = useSessions(projectId);
  return links.chat(waiting ?? [...(sessions.data ?? [])].sort(byLastUse)[0]?.session_id);
}

/** Newest first. */
export const byLastUse = (a: Session, b: Session): number =>
  (a.last_message_at ?? a.created_at) < (b.last_message_at ?? b.created_at) ? 1 : -1;
