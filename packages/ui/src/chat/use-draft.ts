import { type Dispatch, type SetStateAction, useEffect, useRef, useState } from 'react';

/**
 * The text of a message field. Unsent, it outlasts a look at another screen and a reload of the page, in this window alone.
 * A draft that moves to another name is that of a new conversation, which now has an id.
 */
export function useDraft(name: string): readonly [string, Dispatch<SetStateAction<string>>] {
  const [text, setText] = useState(() => kept(name));
  const lastName = useRef(name);
  useEffect(() => {
    if (lastName.current !== name) keep(lastName.current, '');
    lastName.current = name;
    keep(name, text);
  }, [name, text]);
  return [text, setText];
}

const keyOf = (name: string): string => `countersign.draft.${name}`;

function kept(name: string): string {
  try {
    return sessionStorage.getItem(keyOf(name)) ?? '';
  } catch {
    return '';
  }
}

function keep(name: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(keyOf(name));
    else sessionStorage.setItem(keyOf(name), text);
  } catch {
    // A private window may refuse: the draft then lasts as long as the field.
  }
}
