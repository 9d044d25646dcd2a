import type { KeyboardEvent } from 'react';

/** Submits a form on Ctrl+Enter or Cmd+Enter, because Enter alone is a new line in most fields. */
export function submitOnCtrlEnter(event: KeyboardEvent<HTMLFormElement>): void {
  const { key, ctrlKey, metaKey, repeat, nativeEvent } = event;
  if (key !== 'Enter' || !(ctrlKey || metaKey) || repeat || nativeEvent.isComposing) return;
  event.preventDefault();
  const submit = event.currentTarget.querySelector<HTMLButtonElement>('button[type="submit"]');
  if (submit && !submit.disabled) event.currentTarget.requestSubmit(submit);
}
