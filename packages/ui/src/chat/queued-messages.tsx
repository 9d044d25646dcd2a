import { messageOf, type QueuedMessage } from '@countersign/protocol';
import { useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useLive } from '../live/live-context.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { TextEdit } from './text-edit.tsx';

interface QueuedMessagesProps {
  readonly projectId: string;
  readonly queued: readonly QueuedMessage[];
  /** Sends a text as a message of its own. Resolves with whether it was sent. */
  onSend(text: string): Promise<boolean>;
}

/** Messages that wait until the agent takes them: each can be changed, removed or sent now (AG-5). */
export function QueuedMessages({ projectId, queued, onSend }: QueuedMessagesProps) {
  const { conversation, said } = useWords();
  const { queue } = conversation;
  const { client } = useLive();
  const [editedId, setEditedId] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  // The agent may take a message while it is being changed: the field stays, so that the change is not lost.
  const taken = queued.some(({ message_id }) => message_id === editedId) ? null : editedId;
  const ids = [...queued.map(({ message_id }) => message_id), ...(taken === null ? [] : [taken])];
  if (ids.length === 0 && problem === null) return null;

  /** Resolves with whether the server did it. */
  const attempt = async (request: Promise<unknown>): Promise<boolean> => {
    setProblem(null);
    try {
      await request;
      return true;
    } catch (error) {
      setProblem(messageOf(error));
      return false;
    }
  };
  const leaveEdit = (): void => {
    setEditedId(null);
    document.querySelector<HTMLElement>('[data-composer]')?.focus();
  };
  const submit = async (message_id: string, content: string): Promise<void> => {
    const params = { project_id: projectId, message_id };
    const isDone =
      taken === message_id
        ? await onSend(content)
        : await attempt(client.changeQueuedMessage({ params, body: { content } }));
    if (isDone) leaveEdit();
  };
  return (
    <section className="queue" aria-label={queue.title}>
      {problem !== null && <Visible as="p" className="field-problem" role="alert" text={said(problem)} />}
      <ol>
        {ids.map((id) => {
          const message = queued.find(({ message_id }) => message_id === id);
          return (
            <li key={id} className="queued" data-queued={id}>
              {editedId === id ? (
                <TextEdit
                  label={queue.text}
                  initial={message?.content ?? ''}
                  note={taken === id ? queue.taken : null}
                  submitName={taken === id ? queue.sendAgain : queue.save}
                  cancelName={taken === id ? queue.discard : queue.cancel}
                  onCancel={leaveEdit}
                  onSubmit={(text) => void submit(id, text)}
                />
              ) : (
                message && (
                  <QueuedRow
                    message={message}
                    onEdit={() => setEditedId(id)}
                    onRemove={() =>
                      void attempt(
                        client.removeQueuedMessage({ params: { project_id: projectId, message_id: id } }),
                      )
                    }
                    onSendNow={() =>
                      void attempt(
                        client.sendQueuedMessage({ params: { project_id: projectId, message_id: id } }),
                      )
                    }
                  />
                )
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

interface QueuedRowProps {
  readonly message: QueuedMessage;
  onEdit(): void;
  onRemove(): void;
  onSendNow(): void;
}

function QueuedRow({ message, onEdit, onRemove, onSendNow }: QueuedRowProps) {
  const { queue } = useWords().conversation;
  const isNext = message.when_busy === 'send_now';
  return (
    <>
      <p className="queued-text">
        <span className="queued-state">{isNext ? queue.next : queue.queued}</span>{' '}
        <Visible text={message.content} />
      </p>
      <div className="queued-buttons">
        {!isNext && (
          <Button look="quiet small" title={queue.sendNowHint} onClick={onSendNow}>
            {queue.sendNow}
          </Button>
        )}
        <Button look="quiet small" onClick={onEdit}>
          {queue.edit}
        </Button>
        <Button look="quiet small" onClick={onRemove}>
          {queue.remove}
        </Button>
      </div>
    </>
  );
}
