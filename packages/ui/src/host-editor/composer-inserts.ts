import { Observable } from '@countersign/approvals';
import { useEffect } from 'react';
import { useObservable } from '../live/observable.ts';
import { useHostEditor } from './host-editor.ts';

/** Text for the message field. */
export interface ComposerInsert {
  readonly text: string;
  /** Send it at once if the field is empty. */
  readonly send: boolean;
}

/** Keeps text for the message field until a field is there to take it. */
export class ComposerInserts {
  readonly waiting = new Observable<readonly ComposerInsert[]>([]);

  add(insert: ComposerInsert): void {
    this.waiting.set([...this.waiting.get(), insert]);
  }

  /** Removes and returns the oldest. */
  take(): ComposerInsert | undefined {
    const [first, ...rest] = this.waiting.get();
    if (first) this.waiting.set(rest);
    return first;
  }
}

const none = new ComposerInserts();

/** Gives the text of the editor's commands to the message field, as soon as the field is ready for it. */
export function useInserts(
  isReady: (insert: ComposerInsert) => boolean,
  take: (insert: ComposerInsert) => void,
): void {
  const inserts = useHostEditor()?.inserts ?? none;
  const next = useObservable(inserts.waiting, ([first]) => first);
  useEffect(() => {
    if (!next || inserts.waiting.get()[0] !== next || !isReady(next)) return;
    inserts.take();
    take(next);
  });
}

/** Appends to a draft, on a line of its own unless it fits behind the last word. */
export function withInsert(draft: string, insert: string): string {
  if (draft.trim() === '') return insert;
  const isShort = !insert.includes('\n') && !/\n$/.test(draft);
  return `${draft.replace(/[ \t]+$/, '')}${isShort ? ' ' : draft.endsWith('\n') ? '' : '\n'}${insert}`;
}
