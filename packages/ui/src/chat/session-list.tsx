import { pendingOf } from '@countersign/approvals';
import type { CallResponse } from '@countersign/client';
import { Icon } from '../frame/icons.tsx';
import { links } from '../frame/links.ts';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { useSessions } from '../queries/workspace.ts';
import { shortMoment } from '../text/moment.ts';
import { Visible } from '../text/visible.tsx';
import { useLanguage, useWords } from '../words/words.ts';

interface SessionListProps {
  readonly projectId: string;
  readonly current: string | null;
}

/** The conversations of a project, newest first; a mark where one waits for a decision. */
export function SessionList({ projectId, current }: SessionListProps) {
  const words = useWords();
  const { chat } = words;
  const language = useLanguage();
  const { approvals } = useLive();
  const sessions = useSessions(projectId);
  const waiting = useObservable(approvals.entries, (entries) =>
    [...new Set(pendingOf(entries).map(({ approval }) => approval.session_id))].sort().join(' '),
  ).split(' ');
  return (
    <section className="sessions" aria-label={chat.sessions}>
      <div className="sessions-head">
        <h2 className="label">{chat.sessions}</h2>
        <NewSessionLink />
      </div>
      {sessions.isPending && <p className="muted">{words.states.loading}</p>}
      {sessions.isError && <p className="caution">{words.states.failed}</p>}
      <ul>
        {[...(sessions.data ?? [])]
          .sort(byLastUse)
          .map(({ session_id, title, last_message_at, created_at }) => (
            <li key={session_id}>
              <a href={links.chat(session_id)} aria-current={session_id === current ? 'true' : undefined}>
                <Visible as="span" className="session-title" text={title === '' ? chat.untitled : title} />
                <span className="session-time">{shortMoment(last_message_at ?? created_at, language)}</span>
                {waiting.includes(session_id) && (
                  <span className="session-waits">
                    <span className="visually-hidden">{words.call.status.awaiting_approval}</span>
                  </span>
                )}
              </a>
            </li>
          ))}
      </ul>
    </section>
  );
}

export function NewSessionLink() {
  const { chat } = useWords();
  return (
    <a className="button quiet small" href={links.chat()} title={chat.newSession}>
      <Icon name="plus" />
      <span className="visually-hidden">{chat.newSession}</span>
    </a>
  );
}

type Session = CallResponse<'listSessions'>['sessions'][number];

const byLastUse = (a: Session, b: Session): number =>
  (a.last_message_at ?? a.created_at) < (b.last_message_at ?? b.created_at) ? 1 : -1;
