import { messageOf } from '@countersign/protocol';
import { useState } from 'react';
import { Menu } from '../frame/menu.tsx';
import type { ChatMessage } from '../live/conversation.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { useMessageActions } from './message-actions.tsx';
import { TextEdit } from './text-edit.tsx';

/** The menu of a message: rewind and branch; for one of the person's, also retry, edit and resend. */
export function MessageMenu({ message }: { readonly message: ChatMessage }) {
  const { conversation, said } = useWords();
  const { message: words, queue } = conversation;
  const actions = useMessageActions();
  const [isEdited, setEdited] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  if (!actions || message.isRewound) return null;
  const branch = async (): Promise<void> => {
    setProblem(null);
    await actions.branch(message).catch((error: unknown) => setProblem(messageOf(error)));
  };
  const busy = actions.isBusy ? { isDisabled: true, hint: words.busy } : {};
  return (
    <>
      {isEdited && (
        <TextEdit
          label={words.text}
          initial={message.text}
          note={actions.isBusy ? words.busy : words.editing}
          submitName={words.resend}
          cancelName={queue.cancel}
          onCancel={() => setEdited(false)}
          onSubmit={(text) => {
            if (actions.isBusy) return;
            void actions.resend(message, text).then((isSent) => setEdited(!isSent));
          }}
        />
      )}
      {problem !== null && <Visible as="p" className="field-problem" role="alert" text={said(problem)} />}
      {!isEdited && (
        <div className="message-menu">
          <Menu
            label={words.menu}
            items={[
              ...(message.role === 'user'
                ? [
                    { name: words.retry, ...busy, act: () => void actions.resend(message, message.text) },
                    { name: words.edit, ...busy, act: () => setEdited(true) },
                  ]
                : []),
              { name: words.rewind, ...busy, act: () => actions.rewind(message) },
              { name: words.branch, act: () => void branch() },
            ]}
          />
        </div>
      )}
    </>
  );
}
