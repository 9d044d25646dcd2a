import { createContext, type ReactNode, useContext, useMemo, useRef, useState } from 'react';
import type { ChatMessage, Conversation } from '../live/conversation.ts';
import { useLive } from '../live/live-context.ts';
import { RewindDialog } from './rewind-dialog.tsx';

export interface MessageActions {
  /** True while a run is under way: the conversation cannot go back then. */
  readonly isBusy: boolean;
  /** Asks what to put back, then goes back to before the message. */
  rewind(message: ChatMessage): void;
  /** Goes back to before the message and sends this text instead. Files stay as they are. Resolves with whether it was sent. */
  resend(message: ChatMessage, text: string): Promise<boolean>;
  /**
   * Opens a new conversation from an answer, with everything said up to it, or from one of the person's messages: then
   * with everything before it, and its text in the message field.
   */
  branch(message: ChatMessage): Promise<void>;
}

const ActionsContext = createContext<MessageActions | null>(null);

/** Null where messages are shown without actions. */
export const useMessageActions = (): MessageActions | null => useContext(ActionsContext);

interface ProviderProps {
  readonly sessionId: string;
  readonly conversation: Conversation;
  resend(messageId: string, text: string): Promise<boolean>;
  /** Puts a text into the message field. */
  suggest(text: string): void;
  /** Opens a conversation with a text in its message field. */
  openWith(sessionId: string | null, text: string): void;
  readonly children: ReactNode;
}

/** What the menu of each message can do in this conversation. */
export function MessageActionsProvider(props: ProviderProps) {
  const { sessionId, conversation, suggest, children } = props;
  const { client } = useLive();
  const [asked, setAsked] = useState<ChatMessage | null>(null);
  const isBusy = conversation.agent !== 'idle';
  // The actions read the current props when called, so that a streamed answer does not redraw every menu.
  const latest = useRef(props);
  latest.current = props;
  const actions = useMemo<MessageActions>(
    () => ({
      isBusy,
      rewind: setAsked,
      resend: (message, text) => latest.current.resend(message.id, text),
      branch: async (message) => {
        const { conversation, openWith } = latest.current;
        const isAnswer = message.role === 'assistant';
        const message_id = isAnswer ? message.id : messageBefore(conversation, message.id);
        if (message_id === undefined) return openWith(null, message.text);
        const { session } = await client.branchSession({
          params: { session_id: sessionId },
          body: { message_id },
        });
        openWith(session.session_id, isAnswer ? '' : message.text);
      },
    }),
    [isBusy, client, sessionId],
  );
  return (
    <ActionsContext value={actions}>
      {children}
      {asked && (
        <RewindDialog
          sessionId={sessionId}
          messageId={asked.id}
          onClose={() => setAsked(null)}
          onDone={() => {
            setAsked(null);
            if (asked.role === 'user') suggest(asked.text);
          }}
        />
      )}
    </ActionsContext>
  );
}

/** The last message of the person or the agent before this one that was not rewound. */
function messageBefore({ order, messages }: Conversation, id: string): string | undefined {
  return order.slice(0, order.indexOf(id)).findLast((one) => {
    const message = messages.get(one);
    return message && !message.isRewound && (message.role === 'user' || message.role === 'assistant');
  });
}
