import { useEffect, useMemo, useState } from 'react';
import type { Token } from './highlighter.ts';

type Highlighter = typeof import('./highlighter.ts');

/** Loaded with the first code that is shown: it is a large part of the page. */
let loading: Promise<Highlighter> | undefined;
let loaded: Highlighter | undefined;

/** Longer texts are shown without colours, so that the page stays quick. */
const maxCharacters = 60_000;

/** The lines in the colours of the file's language. Undefined while the highlighter loads, or if there are none. */
export function useHighlighting(
  path: string,
  lines: readonly string[],
): readonly (readonly Token[])[] | undefined {
  const [highlighter, setHighlighter] = useState(loaded);
  useEffect(() => {
    if (path === '' || highlighter) return;
    let isWanted = true;
    loading ??= import('./highlighter.ts');
    loading.then(
      (module) => {
        loaded = module;
        if (isWanted) setHighlighter(module);
      },
      () => {
        loading = undefined; // the server is away: the text is readable without colours
      },
    );
    return () => {
      isWanted = false;
    };
  }, [path, highlighter]);
  return useMemo(() => {
    const language = path === '' ? undefined : highlighter?.languageOf(path);
    if (!highlighter || language === undefined) return undefined;
    const text = lines.join('\n');
    return text.length > maxCharacters ? undefined : highlighter.highlightLines(text, language);
  }, [highlighter, path, lines]);
}
