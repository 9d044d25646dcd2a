import type { ReactNode } from 'react';
import { Icon } from '../frame/icons.tsx';
import { links } from '../frame/links.ts';
import { Popover } from '../frame/popover.tsx';
import { useWords } from '../words/words.ts';

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
      <a className="button quiet small" href={links.chat()} title={chat.newSession}>
        <Icon name="plus" />
        <span className="visually-hidden">{chat.newSession}</span>
      </a>
    </div>
  );
}
