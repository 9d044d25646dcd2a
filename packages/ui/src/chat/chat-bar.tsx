import type { ReactNode } from 'react';
import { Icon } from '../frame/icons.tsx';
import { Popover } from '../frame/popover.tsx';
import { useWords } from '../words/words.ts';
import { NewSessionLink } from './session-list.tsx';

/** On a phone the conversations are behind a button above the chat. */
export function ChatBar({ children }: { readonly children: ReactNode }) {
  const { chat } = useWords();
  return (
    <div className="chat-bar">
      <Popover
        label={
          <>
            <Icon name="list" /> {chat.sessions}
          </>
        }
      >
        {children}
      </Popover>
      <NewSessionLink />
    </div>
  );
}
