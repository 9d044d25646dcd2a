import { pendingOf } from '@countersign/approvals';
import type { Session } from '@countersign/protocol';
import { useEffect, useState } from 'react';
import { Icon } from '../frame/icons.tsx';
import { links } from '../frame/links.ts';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { useFoundSessions, useSessions } from '../queries/workspace.ts';
import { shortMoment } from '../text/time-text.ts';
import { Visible } from '../text/visible.tsx';
import { useLanguage, useWords } from '../words/words.ts';
import { byLastUse } from './chat-href.ts';
import { SessionMenu, SessionTitleField } from './session-menu.tsx';

interface SessionListProps {
  readonly projectId: string;
  readonly current: string | null;
}

/** The conversations of a project, newest first. Those that wait for a decision are marked. */
export function SessionList({ projectId, current }: SessionListProps) {
  const words = useWords();
  const { chat } = words;
  const { list } = words.conversation;
  const { approvals } = useLive();
  const sessions = useSessions(projectId);
  const [typed, setTyped] = useState('');
  const q = useRested(typed.trim());
  const found = useFoundSessions(projectId, q);
  // While a search is under way, the list stays as it is.
  const shown = q !== '' && found.data ? found : sessions;
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
      <input
        type="search"
        className="session-search"
        aria-label={list.search}
        placeholder={list.search}
        maxLength={200}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
      {q !== '' && found.data?.length === 0 && (
        <p className="muted" role="status">
          {list.noneFound}
        </p>
      )}
      <ul>
        {[...(shown.data ?? [])].sort(byLastUse).map((session) => (
          <SessionRow
            key={session.session_id}
            session={session}
            isCurrent={session.session_id === current}
            isWaiting={waiting.includes(session.session_id)}
          />
        ))}
      </ul>
    </section>
  );
}

interface SessionRowProps {
  readonly session: Session;
  readonly isCurrent: boolean;
  readonly isWaiting: boolean;
}

function SessionRow({ session, isCurrent, isWaiting }: SessionRowProps) {
  const { chat, calls } = useWords();
  const language = useLanguage();
  const [isRenamed, setRenamed] = useState(false);
  const { session_id, title, last_message_at, created_at } = session;
  return (
    <li className="session">
      {isRenamed ? (
        <SessionTitleField session={session} onDone={() => setRenamed(false)} />
      ) : (
        <>
          <a href={links.chat(session_id)} aria-current={isCurrent ? 'true' : undefined}>
            <Visible as="span" className="session-title" text={title === '' ? chat.untitled : title} />
            <span className="session-time">{shortMoment(last_message_at ?? created_at, language)}</span>
            {isWaiting && (
              <span className="session-waits">
                <span className="visually-hidden">{calls.state.awaiting_approval}</span>
              </span>
            )}
          </a>
          <SessionMenu session={session} isCurrent={isCurrent} onRename={() => setRenamed(true)} />
        </>
      )}
    </li>
  );
}

/** A typed text, once the person has paused. */
function useRested(text: string): string {
  const { clock } = useLive();
  const [rested, setRested] = useState(text);
  useEffect(() => clock.after(250, () => setRested(text)), [clock, text]);
  return rested;
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
