import { pendingOf, titleOf } from '@countersign/approvals';
import { useEffect, useRef, useState } from 'react';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { visibleText } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { links } from './links.ts';
import { notificationText, type ShownNotification, showNotification } from './notifications.ts';
import { usePreference } from './preferences.ts';

/**
 * Announces new approvals without taking the focus (UI-6): a number in the page's title, a desktop notification if the
 * person has enabled them, and text for a screen reader. Closes the notifications of settled approvals.
 */
export function ApprovalAlerts() {
  const words = useWords();
  const { approvals } = useLive();
  const [wantsNotifications] = usePreference('notify');
  const entries = useObservable(approvals.entries, (all) => all);
  const known = useRef(new Map<string, ShownNotification | undefined>());
  const [spoken, setSpoken] = useState('');
  const pending = pendingOf(entries);
  const count = pending.length;

  useEffect(() => {
    document.title = count > 0 ? `(${count}) Countersign` : 'Countersign';
  }, [count]);

  useEffect(() => {
    const waiting = new Map(pendingOf(entries).map(({ approval }) => [approval.approval_id, approval]));
    for (const [id, notification] of known.current) {
      if (waiting.has(id)) continue;
      notification?.close();
      known.current.delete(id);
    }
    for (const [id, approval] of waiting) {
      if (known.current.has(id)) continue;
      const shown = wantsNotifications
        ? showNotification(words.notification.title, {
            body: notificationText(approval, words),
            tag: id,
            onClick: () => {
              window.location.hash = links.inbox(id);
            },
          })
        : undefined;
      known.current.set(id, shown);
      setSpoken(words.approval.newOne(visibleText(titleOf(approval, words.approval))));
    }
  }, [entries, wantsNotifications, words]);

  return (
    <p className="visually-hidden" role="status" aria-live="polite">
      {spoken}
    </p>
  );
}
