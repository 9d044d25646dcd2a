import { useCallback, useState } from 'react';

export type NotificationState = NotificationPermission | 'unsupported';

const readState = (): NotificationState =>
  typeof Notification === 'undefined' ? 'unsupported' : Notification.permission;

/** Whether this browser allows notifications, and a function that checks again. */
export function useNotificationState(): readonly [NotificationState, () => void] {
  const [state, setState] = useState(readState);
  return [state, useCallback(() => setState(readState()), [])];
}

export const askForNotifications = (): Promise<NotificationPermission> => Notification.requestPermission();

export interface ShownNotification {
  close(): void;
}

/** Shows a notification unless the page has the focus. `tag` lets a later one replace it. */
export function showNotification(
  title: string,
  { body, tag, onClick }: { readonly body: string; readonly tag: string; onClick(): void },
): ShownNotification | undefined {
  const isLookedAt = document.visibilityState === 'visible' && document.hasFocus();
  if (readState() !== 'granted' || isLookedAt) return undefined;
  try {
    const notification = new Notification(title, { body, tag });
    notification.onclick = () => {
      window.focus();
      onClick();
      notification.close();
    };
    return notification;
  } catch {
    return undefined; // phones only allow it in service workers
  }
}
