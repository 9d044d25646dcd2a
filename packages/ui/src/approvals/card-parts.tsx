import {
  type ApprovalEntry,
  type ApprovalRequest,
  type Notice,
  networkText,
  readShellLine,
  shellLineOf,
  shownOperand,
} from '@countersign/approvals';
import { type Approval, mustShowParameters, type Preview } from '@countersign/protocol';
import { useLive } from '../live/live-context.ts';
import { useRunners } from '../queries/workspace.ts';
import { JsonView } from '../text/json-view.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { useMsSince } from './countdown.tsx';
import { PreviewView } from './preview-view.tsx';
import { ShellLine } from './shell-line.tsx';

/** The preview and the parameters of a call. Says why a preview is missing. */
export function PreviewSection({ entry }: { readonly entry: ApprovalEntry }) {
  const { approval, incomplete } = entry;
  const words = useWords();
  const { preview, project_id } = approval;
  // A request names its runner only after the preview was made, so look up the connected runners.
  const runners = useRunners();
  const hasNoRunner = runners.data?.some((one) => one.project_id === project_id && one.connected) === false;
  const shellLine = readLineOf(approval);
  const needsParameters = preview !== null && mustShowParameters(preview);
  return (
    <section className="what">
      <p className="label">{words.approval.whatHappens}</p>
      {entry.tryingSince !== null && <Trying since={entry.tryingSince} />}
      {shellLine && <ShellLine parts={shellLine.parts} />}
      {preview && (
        <PreviewView
          preview={preview}
          isShellLineShown={isEachPartShown(shellLine, preview)}
          isNetworkShown={approval.network}
        />
      )}
      {!preview && (
        <p className="waiting-line" role="status">
          {incomplete
            ? words.states.loading
            : hasNoRunner
              ? words.approval.noRunner
              : words.approval.previewPending}
        </p>
      )}
      <details className="raw" open={needsParameters} data-needed={needsParameters || undefined}>
        <summary>{words.approval.raw}</summary>
        {incomplete && <p className="muted">{words.states.loading}</p>}
        <JsonView value={approval.tool_params} />
      </details>
    </section>
  );
}

/** Says that the call is being tried, and for how long. Only the sentence is read aloud. */
function Trying({ since }: { readonly since: number }) {
  const { approval, preview } = useWords();
  const { clock } = useLive();
  const seconds = Math.floor(useMsSince(since, clock) / 1000);
  return (
    <p className="waiting-line trying">
      <span role="status">{approval.trying}</span>{' '}
      <span aria-hidden="true">{preview.trial.seconds(String(seconds))}</span>
    </p>
  );
}

/** The shell line of a call in parts; undefined for a call of another kind. */
function readLineOf(approval: ApprovalRequest): ReturnType<typeof readShellLine> | undefined {
  const line = shellLineOf(approval);
  return line === undefined ? undefined : readShellLine(line, approval.reasons);
}

/** Whether each command of the preview is a part of the shown line. Commands inside others are listed below it. */
const isEachPartShown = (line: ReturnType<typeof readLineOf>, preview: Preview): boolean =>
  line !== undefined && preview.kind === 'command' && preview.commands.length <= line.parts.length;

/** Why the person is asked, apart from what stands beside the parts of a shell line. */
export function CardReasons({ approval }: { readonly approval: ApprovalRequest }) {
  const { reasons } = approval;
  const others = readLineOf(approval)?.others ?? reasons;
  if (others.length === 0 && reasons.length > 0 && !approval.network) return null;
  return <Reasons reasons={others} networkOf={approval} />;
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
        <p>{text ?? <Visible text={said(notice)} />}</p>
        {text !== undefined && notice.code === 'GRANT_NOT_ALLOWED' && (
          <Visible as="p" className="muted" text={said(notice)} />
        )}
      </div>
    );
  }
  return askedAgain ? <p className="notice">{approval.askedAgain}</p> : null;
}

interface ReasonsProps {
  readonly reasons: readonly Approval['reasons'][number][];
  /** Left out where the history says it elsewhere. */
  readonly networkOf?: Pick<Approval, 'network' | 'preview'>;
  /** Replaces "why you are asked", for a call that the history shows. */
  readonly title?: string;
}

/** Why the person is asked, and the operand that triggered each reason (RK-3). */
export function Reasons({ title, reasons, networkOf }: ReasonsProps) {
  const { risk, preview } = useWords();
  return (
    <div className="reasons">
      <p className="label">{title ?? risk.why}</p>
      <ul>
        {reasons.map((reason) => (
          <Reason key={`${reason.rule} ${reason.operand ?? ''} ${reason.why}`} reason={reason} />
        ))}
        {reasons.length === 0 && <li>{risk.noReasons}</li>}
        {networkOf?.network && (
          <li className="caution">
            <Visible text={networkText(networkOf.preview, preview)} />
          </li>
        )}
      </ul>
    </div>
  );
}

function Reason({ reason }: { readonly reason: Approval['reasons'][number] }) {
  const { said } = useWords();
  const text = said(reason);
  const operand = shownOperand(reason);
  return (
    <li>
      <span>
        <Visible text={text.charAt(0).toUpperCase() + text.slice(1)} />
        {operand !== undefined && (
          <>
            : <Visible as="code" text={operand} />
          </>
        )}
      </span>
      <span className="rule-id">{reason.rule}</span>
    </li>
  );
}
