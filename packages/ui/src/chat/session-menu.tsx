import { conversationMarkdown } from '@countersign/approvals';
import { messageOf, type Session } from '@countersign/protocol';
import { callWords } from '@countersign/words';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../frame/button.tsx';
import { followLink, links } from '../frame/links.ts';
import { Menu } from '../frame/menu.tsx';
import { Question } from '../frame/question.tsx';
import { useLive } from '../live/live-context.ts';
import { keys } from '../queries/keys.ts';
import { downloadText, fileNameOf } from '../text/download.ts';
import { Visible, visibleText } from '../text/visible.tsx';
import { useLanguage, useWords } from '../words/words.ts';

interface SessionMenuProps {
  readonly session: Session;
  readonly isCurrent: boolean;
  onRename(): void;
}

/** What can be done with a conversation of the list: rename, export, delete. */
export function SessionMenu({ session, isCurrent, onRename }: SessionMenuProps) {
  const words = useWords();
  const language = useLanguage();
  const { list } = words.conversation;
  const { client, conversations } = useLive();
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const { session_id, project_id: projectId } = session;
  const title = visibleText(session.title === '' ? words.chat.untitled : session.title);
  const fail = (error: unknown): void => setProblem(messageOf(error));

  const exportMarkdown = async (): Promise<void> => {
    setProblem(null);
    const read = await conversations.readMessages({ projectId, sessionId: session_id }).catch(fail);
    if (!read) return;
    const { messages } = read;
    const text = conversationMarkdown({ title: session.title, messages }, callWords[language]);
    downloadText(fileNameOf(session.title, 'md'), text);
  };
  const leave = (): void => {
    setProblem(null);
    setAsking(false);
  };
  const remove = async (): Promise<void> => {
    try {
      await client.deleteSession({ params: { session_id } });
    } catch (error) {
      return fail(error);
    }
    setAsking(false);
    if (isCurrent) followLink(links.chat());
    await queries.invalidateQueries({ queryKey: keys.sessions(projectId) });
  };
  const why = problem !== null && (
    <Visible as="p" className="field-problem" role="alert" text={words.said(problem)} />
  );
  return (
    <>
      <Menu
        label={list.menu(title)}
        items={[
          { name: list.rename, act: onRename },
          { name: list.exportMarkdown, act: () => void exportMarkdown() },
          {
            name: list.remove,
            act: () => {
              setProblem(null);
              setAsking(true);
            },
          },
        ]}
      />
      {!isAsking && why}
      {isAsking && (
        <Question title={list.removeTitle(title)} onClose={leave}>
          <p>{list.removeHint}</p>
          {why}
          <div className="buttons">
            <Button onClick={leave}>{list.cancel}</Button>
            <Button look="danger" onClick={() => void remove()}>
              {list.removeYes}
            </Button>
          </div>
        </Question>
      )}
    </>
  );
}

interface SessionTitleFieldProps {
  readonly session: Session;
  onDone(): void;
}

/** The field that renames a conversation, in the place of its row. Enter saves, Escape leaves it as it was. */
export function SessionTitleField({ session, onDone }: SessionTitleFieldProps) {
  const { conversation, said } = useWords();
  const { client } = useLive();
  const queries = useQueryClient();
  const [title, setTitle] = useState(session.title);
  const [problem, setProblem] = useState<string | null>(null);
  const { session_id, project_id } = session;
  const save = async (): Promise<void> => {
    const wanted = title.trim();
    if (wanted === session.title || wanted === '') return onDone();
    try {
      await client.changeSession({ params: { session_id }, body: { title: wanted } });
    } catch (error) {
      return setProblem(messageOf(error));
    }
    queries.setQueryData<readonly Session[]>(keys.sessions(project_id), (known) =>
      known?.map((one) => (one.session_id === session_id ? { ...one, title: wanted } : one)),
    );
    onDone();
  };
  return (
    <form
      className="session-rename"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input
        // biome-ignore lint/a11y/noAutofocus: the person has just chosen to rename it
        autoFocus
        aria-label={conversation.list.title}
        maxLength={200}
        value={title}
        onFocus={({ target }) => target.select()}
        onChange={({ target }) => setTitle(target.value)}
        onBlur={() => void save()}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          event.stopPropagation();
          onDone();
        }}
      />
      {problem !== null && <Visible as="p" className="field-problem" role="alert" text={said(problem)} />}
    </form>
  );
}
