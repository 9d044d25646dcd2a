import { type ApprovalEntry, shellLineOf } from '@countersign/approvals';
import { leavesItToParameters } from '@countersign/protocol';
import { useRunners } from '../queries/workspace.ts';
import { JsonView } from '../text/json-view.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { PreviewView } from './preview-view.tsx';

/** What will happen; until the runner has told it, that it is being worked out. */
export function PreviewSection({ entry }: { readonly entry: ApprovalEntry }) {
  const { approval, incomplete } = entry;
  const words = useWords();
  const { preview, project_id } = approval;
  // The request names no runner before one has made its preview: who is connected is known apart from it.
  const runners = useRunners();
  const hasNoRunner = runners.data?.some((one) => one.project_id === project_id && one.connected) === false;
  const shellLine = shellLineOf(approval);
  return (
    <section className="what">
      <p className="label">{words.approval.whatHappens}</p>
      {shellLine !== undefined && (
        <div className="labelled">
          <p className="label">{words.preview.shellLine}</p>
          <pre className="command-line">
            <Visible text={shellLine} />
          </pre>
        </div>
      )}
      {preview && <PreviewView preview={preview} />}
      {!preview && (
        <p className="waiting-line" role="status">
          {incomplete
            ? words.states.loading
            : hasNoRunner
              ? words.approval.noRunner
              : words.approval.previewPending}
        </p>
      )}
      <details className="raw" open={preview !== null && leavesItToParameters(preview)}>
        <summary>{words.approval.raw}</summary>
        {incomplete && <p className="muted">{words.states.loading}</p>}
        <JsonView value={approval.tool_params} />
      </details>
    </section>
  );
}
