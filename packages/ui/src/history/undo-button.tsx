import { ApiError } from '@countersign/client';
import type { EventPayload, Execution, ToolErrorValue } from '@countersign/protocol';
import { useEffect, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useLive } from '../live/live-context.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

type UndoableCall = Pick<Execution, 'tool_id' | 'undoable' | 'undone_at'>;

type Undo =
  | { readonly step: 'idle' }
  | { readonly step: 'asked'; readonly undoId: string }
  | { readonly step: 'done' }
  | { readonly step: 'refused'; readonly message: string; readonly canForce: boolean };

type Answer = EventPayload<'tool.result'>;

/** Asks the runner to undo a call, and shows the result. */
export function UndoButton({ execution }: { readonly execution: UndoableCall }) {
  const { history, said } = useWords();
  const live = useLive();
  const { tool_id } = execution;
  const [request, setRequest] = useState<Undo>({ step: 'idle' });
  /** The runner's result may arrive before the response with the undo's id. */
  const [answer, setAnswer] = useState<Answer | null>(null);

  useEffect(
    () =>
      live.listen((event) => {
        if (event.event !== 'tool.result' || event.data.undo_id === undefined) return;
        if (event.data.tool_id === tool_id) setAnswer(event.data);
      }),
    [live, tool_id],
  );

  const ask = async (force: boolean) => {
    try {
      const { undo_id } = await live.client.undoExecution({ params: { tool_id }, body: { force } });
      setRequest({ step: 'asked', undoId: undo_id });
    } catch (error) {
      setRequest(refusal(error));
    }
  };
  const undo = withAnswer(request, answer);
  if (undo.step === 'done') return <p role="status">{history.undoDone}</p>;
  if (!execution.undoable || execution.undone_at !== null) return null;
  return (
    <div className="undo">
      {undo.step === 'idle' && <Button onClick={() => void ask(false)}>{history.undo}</Button>}
      {undo.step === 'asked' && <p role="status">{history.undoing}</p>}
      {undo.step === 'refused' && (
        <>
          <p className="notice" role="alert">
            {history.undoConflict} <Visible text={said(undo.message)} />
          </p>
          {undo.canForce && (
            <Button look="danger" onClick={() => void ask(true)}>
              {history.undoForce}
            </Button>
          )}
        </>
      )}
    </div>
  );
}

function withAnswer(request: Undo, answer: Answer | null): Undo {
  if (request.step !== 'asked' || answer?.undo_id !== request.undoId) return request;
  return answer.status === 'completed' ? { step: 'done' } : refusal(answer.error);
}

function refusal(error: unknown): Undo {
  const known =
    error instanceof ApiError || isToolError(error) ? error : { code: '', message: String(error) };
  // The file was changed after the call, so undoing would lose that change. The person may force it (RN-3).
  const canForce = known.code === 'UNDO_CONFLICT';
  return { step: 'refused', message: known.message, canForce };
}

const isToolError = (error: unknown): error is ToolErrorValue =>
  typeof error === 'object' && error !== null && 'code' in error && 'message' in error;
