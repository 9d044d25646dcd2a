import { type ReactNode, useRef } from 'react';
import { Button } from '../frame/button.tsx';
import { CodeBlock } from '../text/code-block.tsx';
import { useWords } from '../words/words.ts';
import { useHostEditor } from './host-editor.ts';

/** A code block of an answer. Inside an editor, a button inserts it at the cursor. */
export function AnswerCode({ children }: { readonly children: ReactNode }) {
  const { chat } = useWords();
  const editor = useHostEditor();
  const block = useRef<HTMLDivElement>(null);
  const text = () => (block.current?.querySelector('pre')?.textContent ?? '').replace(/\n$/, '');
  return (
    <div className="answer-code" ref={block}>
      <CodeBlock>{children}</CodeBlock>
      {editor && (
        <Button
          look="small insert-code"
          title={chat.insertCodeHint}
          onClick={() => editor.insertCode(text())}
        >
          {chat.insertCode}
        </Button>
      )}
    </div>
  );
}
