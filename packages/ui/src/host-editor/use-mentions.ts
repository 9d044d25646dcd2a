import { useEffect, useState } from 'react';
import type { Completion } from '../chat/completion.ts';
import { type Mention, useHostEditor } from './host-editor.ts';

/** Waits for a pause in typing before it asks the editor. */
const pauseMs = 80;

/** The word before the caret that begins with `@`, and where it begins. */
export function mentionAt(text: string, caret: number): { from: number; typed: string } | null {
  const found = /(?:^|\s)@([^\s@]*)$/.exec(text.slice(0, caret));
  return found ? { from: caret - (found[1] ?? '').length - 1, typed: found[1] ?? '' } : null;
}

/** Completes `@` to the files of the workspace and the editor's selection. Null in a browser. */
export function useMentions(text: string, caret: number): Completion | null {
  const editor = useHostEditor();
  const at = editor && mentionAt(text, caret);
  const typed = at?.typed;
  const [found, setFound] = useState<{ typed: string; mentions: readonly Mention[] } | null>(null);
  useEffect(() => {
    if (!editor || typed === undefined) return setFound(null);
    let isCurrent = true;
    const timer = setTimeout(async () => {
      const mentions = await editor.findMentions(typed).catch(() => []);
      if (isCurrent) setFound({ typed, mentions });
    }, pauseMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [editor, typed]);
  if (!at || !found) return null;
  // The last answer stays until the next one is there, but only what still fits.
  const options = found.mentions
    .filter(({ text: mention }) => mention !== `@${at.typed}`)
    .filter(({ text: mention }) => found.typed === at.typed || mention.includes(at.typed))
    .map(({ text: mention, detail }) => ({
      label: mention,
      insert: `${mention} `,
      detail,
      isRequired: false,
    }));
  return options.length === 0 ? null : { kind: 'file', from: at.from, to: caret, options };
}
