import type { ComponentPropsWithoutRef } from 'react';
import ReactMarkdown, { type Components, type Options } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { AnswerCode } from '../host-editor/answer-code.tsx';
import { visibleText } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

interface MarkdownProps {
  readonly text: string;
  readonly rehypePlugins?: Options['rehypePlugins'];
}

/**
 * A model's message as Markdown. HTML in it is shown as text, images are not loaded, and a link opens only when the
 * person clicks it (UI-6). This module is loaded with the first such message.
 */
export default function Markdown({ text, rehypePlugins }: MarkdownProps) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={rehypePlugins} components={components}>
        {visibleText(text)}
      </ReactMarkdown>
    </div>
  );
}

const components: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener nofollow">
      {children}
    </a>
  ),
  img: ({ alt }) => <ImageText alt={alt ?? ''} />,
  pre: ({ children }: ComponentPropsWithoutRef<'pre'>) => <AnswerCode>{children}</AnswerCode>,
};

function ImageText({ alt }: { readonly alt: string }) {
  return <span className="muted">{useWords().chat.image(alt)}</span>;
}
