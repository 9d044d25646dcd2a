import { lazy, memo, type ReactNode, Suspense } from 'react';
import type { ChatMessage } from '../live/conversation.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { ToolCallRow } from './tool-call-row.tsx';

interface MessageRowProps {
  readonly message: ChatMessage;
  readonly sessionId: string;
  /** Shown as plain text: the person's own messages, and those of the manual model. */
  readonly isPlain: boolean;
}

/** One message and the tool calls it makes. */
export const MessageRow = memo(function MessageRow({ message, sessionId, isPlain }: MessageRowProps) {
  const { chat } = useWords();
  const { role, text, isStreaming, toolCalls, runId } = message;
  const plain = <Visible as="p" className="plain-text" text={text} />;
  return (
    <article className={`message message-${role}`} data-message={message.id} aria-busy={isStreaming}>
      <h2 className="message-who">
        {role === 'user' ? chat.you : role === 'system' ? chat.system : chat.agent}
      </h2>
      {text !== '' && (role !== 'assistant' || isPlain ? plain : <RichText text={text} plain={plain} />)}
      {isStreaming && <span className="caret" aria-hidden="true" />}
      {toolCalls.map((call) => (
        <ToolCallRow key={call.tool_call_id} sessionId={sessionId} runId={runId} call={call} />
      ))}
    </article>
  );
});

const Markdown = lazy(() => import('./markdown.tsx'));
const HighlightedMarkdown = lazy(() => import('./highlighted-markdown.tsx'));

interface RichTextProps {
  readonly text: string;
  /** Shown while the Markdown renderer loads. */
  readonly plain: ReactNode;
}

const codeOfALanguage = /^\s*(```|~~~)\s*\w/m;

/** An answer as Markdown, with highlighted code where it has some. */
function RichText({ text, plain }: RichTextProps) {
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
