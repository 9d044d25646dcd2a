import { type DiffLine, resultView, type ResultView as View } from '@countersign/approvals';
import { isFinal, type JsonValue } from '@countersign/protocol';
import { useMemo } from 'react';
import { LinesDiff } from '../approvals/file-diffs.tsx';
import { PreviewView } from '../approvals/preview-view.tsx';
import { links } from '../frame/links.ts';
import { RunAgain } from '../history/run-again.tsx';
import { UndoButton } from '../history/undo-button.tsx';
import type { ChatCall } from '../live/conversation.ts';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { useExecution } from '../queries/executions.ts';
import { ResultView } from '../results/result-view.tsx';
import { TerminalView } from '../results/terminal-view.tsx';
import { JsonView } from '../text/json-view.tsx';
import { useWords } from '../words/words.ts';

interface CallDetailsProps {
  readonly call: ChatCall;
  /** The result as the row knows it. */
  readonly view: View | undefined;
}

/**
 * The content of an unfolded row: the result or, without one, the call's preview or parameters; and the call's buttons.
 */
export function CallDetails({ call, view: known }: CallDetailsProps) {
  const words = useWords();
  const { approvals } = useLive();
  const { toolId, toolName, status, approvalId, output } = call;
  const shown = useObservable(approvals.entries, (all) =>
    approvalId === null ? undefined : all.get(approvalId)?.approval.preview,
  );
  const isWhole = known !== undefined && !call.isShortened;
  const showsPreview = known === undefined || known.kind === 'changed';
  const needsFetch = (isFinal(status) && !isWhole) || (showsPreview && !shown);
  const fetched = useExecution(needsFetch ? toolId : null);
  const params = fetched.data?.execution.tool_params ?? call.params;
  const result = fetched.data?.result ?? undefined;
  const view = useMemo(
    () => (result === undefined ? known : resultView(toolName, params, result)),
    [result, known, toolName, params],
  );
  const preview = showsPreview ? (shown ?? fetched.data?.preview) : undefined;
  const whole = fetched.data?.execution.tool_params; // those of the row may be masked
  const change = useMemo(() => (whole ? changeOf(toolName, whole) : undefined), [toolName, whole]);
  const { content } = params;
  return (
    <div className="call-details">
      {needsFetch && fetched.isPending && <p className="muted">{words.states.loading}</p>}
      {preview && <PreviewView preview={preview} />}
      {view?.kind === 'changed' && !preview && change && (
        <LinesDiff
          path={String(params.path)}
          operation={view.files[0]?.operation ?? 'modified'}
          lines={change}
        />
      )}
      {view && !(view.kind === 'changed' && (preview || change)) && (
        <ResultView view={view} sought={typeof content === 'string' ? content : undefined} />
      )}
      {!view && output !== '' && <TerminalView output={output} />}
      <div className="call-actions">
        {view?.kind === 'terminal' && view.landing?.isUndoable && !call.isUndone && (
          <UndoButton execution={{ tool_id: toolId, undoable: true, undone_at: null }} />
        )}
        {isFinal(status) && <RunAgain toolId={toolId} />}
        <a href={links.call(toolId)}>{words.call.openDetail}</a>
        <details className="raw">
          <summary>{words.approval.raw}</summary>
          <JsonView value={params} />
        </details>
      </div>
    </div>
  );
}

/**
 * The change of a file by a call that needed no approval, taken from the parameters. Its place in the file is not
 * known.
 */
function changeOf(
  toolName: string,
  { old, new: replacement, content }: Readonly<Record<string, JsonValue>>,
): readonly DiffLine[] | undefined {
  const lines = (text: string) => text.replace(/\n$/, '').split('\n');
  const added = (text: string) =>
    lines(text).map((line) => ({ kind: 'added', text: line, after: 0 }) as const);
  if (toolName === 'write_file' && typeof content === 'string') return added(content);
  if (toolName !== 'edit_file' || typeof old !== 'string' || typeof replacement !== 'string')
    return undefined;
  const removed = lines(old).map((text) => ({ kind: 'removed', text, before: 0 }) as const);
  return [...removed, ...added(replacement)];
}
