import { callState, callTitle, resultView, stateText } from '@countersign/approvals';
import type { CallResponse } from '@countersign/client';
import { isFinal } from '@countersign/protocol';
import type { ReactNode } from 'react';
import { Reasons } from '../approvals/card-parts.tsx';
import { PreviewView } from '../approvals/preview-view.tsx';
import { RiskBadge } from '../approvals/risk-badge.tsx';
import { links } from '../frame/links.ts';
import { QueryState } from '../frame/states.tsx';
import { useExecution } from '../queries/executions.ts';
import { ResultView } from '../results/result-view.tsx';
import { duration } from '../text/duration.ts';
import { JsonView } from '../text/json-view.tsx';
import { StatusMark } from '../text/status-mark.tsx';
import { moment } from '../text/time-text.ts';
import { Visible } from '../text/visible.tsx';
import { useLanguage, useWords } from '../words/words.ts';
import { RunAgain } from './run-again.tsx';
import { UndoButton } from './undo-button.tsx';

type Detail = CallResponse<'getExecution'>;

/** One call in full: its request, preview, decision, parameters, result and times. */
export function CallDetail({ toolId }: { readonly toolId: string }) {
  const { history } = useWords();
  const call = useExecution(toolId);
  return (
    <section className="screen" aria-labelledby="call-title">
      <p>
        <a href={links.history()}>← {history.back}</a>
      </p>
      <QueryState query={call} />
      {call.data && <DetailBody detail={call.data} />}
    </section>
  );
}

function DetailBody({ detail }: { readonly detail: Detail }) {
  const words = useWords();
  const { history, call, approval, risk } = words;
  const { execution, result, late_result, requested_params, preview, omitted } = detail;
  const { status, error, reasons, tool_name, tool_params, exit_code } = execution;
  const isUndone = execution.undone_at !== null;
  const isNotStarted = execution.not_started ?? false;
  const state = callState({ status, isUndone, isNotStarted, exitCode: exit_code, error });
  const isEdited =
    requested_params !== undefined && JSON.stringify(requested_params) !== JSON.stringify(tool_params);
  return (
    <>
      <header className="detail-head">
        <h1 id="call-title">
          <Visible text={callTitle({ toolName: tool_name, params: tool_params, status }, words.calls)} />
        </h1>
        <p className="with-mark">
          <StatusMark status={state} /> {stateText(state, words.calls)}
          {state === 'nonzero' && exit_code !== undefined && ` · ${words.calls.outcome.exit(exit_code)}`}
          <Visible as="code" className="muted" text={tool_name} />
          {execution.risk_level && <RiskBadge risk={execution.risk_level} />}
          <a href={links.chat(execution.session_id, execution.tool_id)}>{approval.openChat}</a>
        </p>
        <UndoButton execution={execution} />
        {isFinal(status) && <RunAgain toolId={execution.tool_id} />}
      </header>
      {error && (
        <p className={status === 'cancelled' ? 'notice' : 'notice danger'}>
          <Visible text={words.told(error)} /> <code>{error.code}</code>
        </p>
      )}
      {omitted && omitted.length > 0 && <p className="notice">{history.notKept}</p>}
      <div className="detail-grid">
        <div className="detail-main">
          {preview && (
            <Part title={history.preview}>
              <PreviewView preview={preview} />
            </Part>
          )}
          <Part title={isEdited ? history.ran : call.parameters}>
            {isEdited && <p className="notice">{history.edited}</p>}
            <JsonView value={tool_params} />
          </Part>
          {isEdited && (
            <Part title={history.requested}>
              <JsonView value={requested_params} />
            </Part>
          )}
          {result !== null && (
            <Part title={call.result}>
              <ResultView view={resultView(tool_name, tool_params, result)} />
            </Part>
          )}
          {late_result !== undefined && (
            <Part title={history.late}>
              <JsonView value={late_result} />
            </Part>
          )}
        </div>
        <aside className="detail-side">
          <Part title={history.decision}>
            <DecisionFacts detail={detail} />
          </Part>
          {reasons.length > 0 && <Reasons title={risk.whyThis} reasons={reasons} />}
          <Part title={history.timing}>
            <TimingFacts detail={detail} />
          </Part>
          <Part title={history.ids}>
            <Facts
              rows={[
                [history.call, execution.tool_id],
                [history.approval, execution.approval_id],
                [history.grant, execution.grant_id],
                [history.runner, execution.runner_id],
                [history.attempt, String(execution.attempt)],
              ]}
            />
          </Part>
        </aside>
      </div>
    </>
  );
}

function DecisionFacts({ detail }: { readonly detail: Detail }) {
  const { history, approval, calls } = useWords();
  const { decision, execution } = detail;
  if (!decision) {
    const by = execution.approved_by;
    return <p className="muted">{by === null ? history.noDecision : history.by[by]}</p>;
  }
  return (
    <Facts
      rows={[
        [
          history.status,
          decision.status === 'pending'
            ? calls.state.awaiting_approval
            : decision.status === 'cancelled'
              ? calls.decided.cancelled
              : calls.state[decision.status],
        ],
        [history.device, decision.by?.device ?? null],
        [history.token, decision.by?.token_id ?? null],
        [approval.saidReason, decision.reason],
        [approval.saidMessage, decision.message],
      ]}
    />
  );
}

function TimingFacts({ detail }: { readonly detail: Detail }) {
  const words = useWords();
  const language = useLanguage();
  const { history } = words;
  const { created_at, approved_at, completed_at, undone_at, execution_time_ms, requires_approval } =
    detail.execution;
  const at = (iso: string | null) => (iso === null ? null : moment(iso, language));
  const waited =
    approved_at !== null && requires_approval ? Date.parse(approved_at) - Date.parse(created_at) : null;
  return (
    <Facts
      rows={[
        [history.created, at(created_at)],
        [history.approved, at(approved_at)],
        [history.completed, at(completed_at)],
        [history.undone, at(undone_at)],
        [history.waited, waited === null ? null : duration(waited, words)],
        [history.execution, execution_time_ms === null ? null : duration(execution_time_ms, words)],
      ]}
    />
  );
}

/** A list of names and values. Rows without a value are left out. */
function Facts({ rows }: { readonly rows: readonly (readonly [string, string | null])[] }) {
  return (
    <dl className="facts">
      {rows.map(([name, value]) =>
        value === null ? null : (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <Visible as="dd" text={value} />
          </div>
        ),
      )}
    </dl>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="part">
      <h2 className="label">{title}</h2>
      {children}
    </section>
  );
}
