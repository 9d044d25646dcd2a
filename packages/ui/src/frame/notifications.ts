import { type Approval, findTool } from '@countersign/protocol';
import { useCallback, useState } from 'react';
import { visibleText } from '../text/visible.tsx';
import type { Words } from '../words/words.ts';

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

/** A locked screen shows one line of the text. */
const maxLength = 120;

/**
 * Text for a notification, which may appear on a locked screen: a path or a program, never arguments, shell lines or
 * contents, which may hold a password.
 */
export function notificationText(
  { risk_level, tool_name, tool_params }: Pick<Approval, 'risk_level' | 'tool_name' | 'tool_params'>,
  { risk }: Pick<Words, 'risk'>,
): string {
  const { path, dest, command } = tool_params;
  const what = findTool(tool_name)?.category === 'command' ? command : (path ?? dest);
  const text = [`${risk[risk_level]}:`, tool_name, ...(typeof what === 'string' ? [what] : [])].join(' ');
  const visible = visibleText(text);
  return visible.length <= maxLength ? visible : `${visible.slice(0, maxLength - 1)}…`;
}
