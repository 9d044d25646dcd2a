import { lazy, memo, type ReactNode, Suspense } from 'react';
import { StepGroup } from '../approvals/step-group.tsx';
import { links } from '../frame/links.ts';
import type { ChatMessage } from '../live/conversation.ts';
import { CopyButton } from '../text/copy-button.tsx';
import { Visible, visibleText } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { ToolCallRow } from './call-row.tsx';
import { MessageMenu } from './message-menu.tsx';

interface MessageRowProps {
  readonly message: ChatMessage;
  readonly sessionId: string;
  /** The message above is the agent's too: its name is not repeated. */
  readonly isContinued: boolean;
  /** Show a message of the assistant as plain text, as for the manual model. */
  readonly isPlain: boolean;
}

export const MessageRow = memo(function MessageRow(props: MessageRowProps) {
  const { message, sessionId, isContinued, isPlain } = props;
  const { chat, call, told } = useWords();
  const { role, text, isStreaming, toolCalls, runId } = message;
  const plain = <Visible as="p" className="plain-text" text={role === 'system' ? told(text) : text} />;
  return (
    <article
      className={`message message-${role}${isContinued ? ' message-continued' : ''}`}
      data-message={message.id}
      aria-busy={isStreaming}
    >
      {!isContinued && (
        <h2 className="message-who">
          {role === 'user' ? chat.you : role === 'system' ? chat.system : chat.agent}
        </h2>
      )}
      {text !== '' && (role !== 'assistant' || isPlain ? plain : <RichText text={text} plain={plain} />)}
      {message.lateToolId !== null && (
        <p>
          {chat.lateResult} <a href={links.call(message.lateToolId)}>{call.openDetail}</a>
        </p>
      )}
      {role === 'user' && <MessageMenu message={message} />}
      {isStreaming && <span className="caret" aria-hidden="true" />}
      {role === 'assistant' && text !== '' && !isStreaming && (
        <div className="message-actions">
          <CopyButton text={() => visibleText(text)} label={chat.copyAnswer} />
          <MessageMenu message={message} />
        </div>
      )}
      {toolCalls.length > 0 && (
        <StepGroup messageId={message.id}>
          {toolCalls.map((call) => (
            <ToolCallRow key={call.tool_call_id} sessionId={sessionId} runId={runId} call={call} />
          ))}
        </StepGroup>
      )}
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

const codeWithLanguage = /^\s*(```|~~~)\s*\w/m;

/** Text as Markdown, with highlighted code blocks. */
function RichText({ text, plain }: RichTextProps) {
  const unhighlighted = (
    <Suspense fallback={plain}>
      <Markdown text={text} />
    </Suspense>
  );
  if (!codeWithLanguage.test(text)) return unhighlighted;
  return (
    <Suspense fallback={unhighlighted}>
      <HighlightedMarkdown text={text} />
    </Suspense>
  );
}
