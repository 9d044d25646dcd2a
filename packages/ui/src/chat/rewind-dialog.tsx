import { callTitle } from '@countersign/approvals';
import { ApiError } from '@countersign/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../frame/button.tsx';
import { Question } from '../frame/question.tsx';
import { QueryState } from '../frame/states.tsx';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

interface RewindDialogProps {
  readonly sessionId: string;
  readonly messageId: string;
  onDone(): void;
  onClose(): void;
}

type Step =
  | { readonly step: 'asking' | 'working' }
  | { readonly step: 'refused'; readonly error: unknown; readonly canForce: boolean };

/** Shows what going back to before a message puts back, then does it. A file that was changed since needs a second yes. */
export function RewindDialog({ sessionId, messageId, onDone, onClose }: RewindDialogProps) {
  const { conversation, calls: calledWords, said } = useWords();
  const { rewind: words } = conversation;
  const { client, conversations } = useLive();
  const calls = useObservable(conversations.all, (all) => all.get(sessionId)?.calls);
  const [state, setState] = useState<Step>({ step: 'asking' });
  const params = { session_id: sessionId };
  const preview = useQuery({
    queryKey: ['rewind', messageId],
    gcTime: 0, // files change: each dialog asks anew
    queryFn: ({ signal }) => client.previewRewind({ params, query: { message_id: messageId } }, { signal }),
  });
  const rewind = async (files: boolean, force = false): Promise<void> => {
    setState({ step: 'working' });
    try {
      await client.rewindSession(
        { params, body: { message_id: messageId, files, force } },
        { timeoutMs: 120_000 },
      );
      onDone();
    } catch (error) {
      const canForce = error instanceof ApiError && error.code === 'UNDO_CONFLICT';
      setState({ step: 'refused', error, canForce });
    }
  };
  const { files = [], kept = [], runner_connected = true } = preview.data ?? {};
  /** A call of this conversation as its row names it. */
  const titleOf = (toolId: string) => {
    const call = calls?.get(toolId);
    return call && callTitle(call, calledWords);
  };
  const isWorking = state.step === 'working';
  return (
    <Question title={words.title} onClose={onClose}>
      <QueryState query={preview} />
      {preview.data && (
        <>
          <p>{words.messages}</p>
          {files.length === 0 ? (
            <p className="muted">{words.noFiles}</p>
          ) : (
            <>
              <p>{words.files}</p>
              <ul className="file-list">
                {files.map(({ path, operation }) => (
                  <li key={path}>
                    <Visible as="code" text={path} />{' '}
                    <span className="muted">{words.restored[operation]}</span>
                  </li>
                ))}
              </ul>
              {!runner_connected && <p className="notice">{words.noRunner}</p>}
            </>
          )}
          {kept.length > 0 && (
            <>
              <p>{words.kept}</p>
              <ul className="file-list">
                {kept.map(({ tool_id, tool_name }) => (
                  <li key={tool_id}>
                    <Visible text={titleOf(tool_id) ?? tool_name} />
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
      {state.step === 'refused' && (
        <p className="notice" role="alert">
          <Visible text={said(state.error instanceof Error ? state.error : String(state.error))} />
        </p>
      )}
      <div className="buttons">
        <Button onClick={onClose}>{words.cancel}</Button>
        {preview.data && (
          <Button disabled={isWorking} onClick={() => void rewind(false)}>
            {words.withoutFiles}
          </Button>
        )}
        {files.length > 0 && runner_connected && (
          <Button
            look={state.step === 'refused' && state.canForce ? 'danger' : 'primary'}
            disabled={isWorking}
            onClick={() => void rewind(true, state.step === 'refused' && state.canForce)}
          >
            {isWorking
              ? words.working
              : state.step === 'refused' && state.canForce
                ? words.force
                : words.withFiles}
          </Button>
        )}
      </div>
    </Question>
  );
}
