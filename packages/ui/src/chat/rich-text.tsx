import { lazy, type ReactNode, Suspense } from 'react';

const Markdown = lazy(() => import('./markdown.tsx'));
const HighlightedMarkdown = lazy(() => import('./highlighted-markdown.tsx'));

interface RichTextProps {
  readonly text: string;
  /** Shown while the Markdown renderer loads. */
  readonly plain: ReactNode;
}

const codeOfALanguage = /^\s*(```|~~~)\s*\w/m;

/** An answer as Markdown, with highlighted code where it has some. */
export function RichText({ text, plain }: RichTextProps) {
  const unhighlighted = (
    <Suspense fallback={plain}>
      <Markdown text={text} />
    </Suspense>
  );
  if (!codeOfALanguage.test(text)) return unhighlighted;
  return (
    <Suspense fallback={unhighlighted}>
      <HighlightedMarkdown text={text} />
    </Suspense>
  );
}
