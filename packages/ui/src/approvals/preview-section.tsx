import type { ApprovalEntry } from '../live/approval-entry.ts';
import { JsonView } from '../text/json-view.tsx';
import { useWords } from '../words/words.ts';
import { PreviewView } from './preview-view.tsx';

/** What will happen; until the runner has told it, that it is being worked out. */
export function PreviewSection({ entry }: { readonly entry: ApprovalEntry }) {
  const { approval, incomplete } = entry;
  const words = useWords();
  const { preview, runner_id } = approval;
  return (
    <section className="what">
      <p className="label">{words.approval.whatHappens}</p>
      {preview && <PreviewView preview={preview} />}
      {!preview && (
        <p className="waiting-line" role="status">
          {incomplete
            ? words.states.loading
            : runner_id === null
              ? words.approval.noRunner
              : words.approval.previewPending}
        </p>
      )}
      {/* What a custom tool does is what its parameters say. */}
      <details className="raw" open={preview?.kind === 'custom'}>
        <summary>{words.approval.raw}</summary>
        {incomplete && <p className="muted">{words.states.loading}</p>}
        <JsonView value={approval.tool_params} />
      </details>
    </section>
  );
}
