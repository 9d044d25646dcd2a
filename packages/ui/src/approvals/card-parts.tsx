import { type ApprovalEntry, type Notice, shellLineOf } from '@countersign/approvals';
import { type Approval, leavesItToParameters } from '@countersign/protocol';
import { useRunners } from '../queries/workspace.ts';
import { JsonView } from '../text/json-view.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { PreviewView } from './preview-view.tsx';

/** What will happen, or that the runner is still working it out. */
export function PreviewSection({ entry }: { readonly entry: ApprovalEntry }) {
  const { approval, incomplete } = entry;
  const words = useWords();
  const { preview, project_id } = approval;
  // A request names its runner only once that has made the preview, so ask separately which runners are connected.
  const runners = useRunners();
  const hasNoRunner = runners.data?.some((one) => one.project_id === project_id && one.connected) === false;
  const shellLine = shellLineOf(approval);
  return (
    <section className="what">
      <p className="label">{words.approval.whatHappens}</p>
      {shellLine !== undefined && (
        <div className="labelled">
          <p className="label">{words.preview.shellLine}</p>
          <Visible as="pre" className="command-line" text={shellLine} />
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

interface NoticeLineProps {
  readonly notice: Notice | null;
  readonly askedAgain: boolean;
}

/** Why a decision did not count, or why the person is asked again. */
export function NoticeLine({ notice, askedAgain }: NoticeLineProps) {
  const { approval, said } = useWords();
  const explained: Readonly<Record<string, string>> = approval.notices;
  if (notice) {
    const text = explained[notice.code];
    return (
      <div className="notice" role="alert">
        <p>{text ?? <Visible text={said(notice.message)} />}</p>
        {text !== undefined && notice.code === 'GRANT_NOT_ALLOWED' && (
          <Visible as="p" className="muted" text={said(notice.message)} />
        )}
      </div>
    );
  }
  return askedAgain ? <p className="notice">{approval.askedAgain}</p> : null;
}

interface ReasonsProps extends Pick<Approval, 'reasons' | 'network'> {
  /** Another title, where nobody is asked. */
  readonly title?: string;
}

/** Why the person is asked, in plain words, and what triggered it (RK-3). */
export function Reasons({ title, reasons, network }: ReasonsProps) {
  const { risk, said } = useWords();
  return (
    <div className="reasons">
      <p className="label">{title ?? risk.why}</p>
      <ul>
        {reasons.map(({ rule, why, operand }) => (
          <li key={`${rule} ${operand ?? ''} ${why}`}>
            <Visible text={sentence(said(why))} />
            {operand !== undefined && <Visible as="code" text={operand} />}
            <span className="rule-id">{rule}</span>
          </li>
        ))}
        {reasons.length === 0 && <li>{risk.noReasons}</li>}
        {network && <li className="caution">{risk.network}</li>}
      </ul>
    </div>
  );
}

const sentence = (text: string): string => {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
};
