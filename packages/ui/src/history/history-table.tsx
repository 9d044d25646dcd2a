import { callState, callTitle, stateText } from '@countersign/approvals';
import type { Execution } from '@countersign/protocol';
import { memo } from 'react';
import { RiskBadge } from '../approvals/risk-badge.tsx';
import { links } from '../frame/links.ts';
import { duration } from '../text/duration.ts';
import { StatusMark } from '../text/status-mark.tsx';
import { moment } from '../text/time-text.ts';
import { Visible } from '../text/visible.tsx';
import { useLanguage, useWords } from '../words/words.ts';

/** A table of calls. Each row links to the call's details. */
export function HistoryTable({ executions }: { readonly executions: readonly Execution[] }) {
  const { history } = useWords();
  return (
    <div className="table-box">
      <table className="table history-table">
        <thead>
          <tr>
            <th scope="col">{history.call}</th>
            <th scope="col">{history.status}</th>
            <th scope="col">{history.risk}</th>
            <th scope="col">{history.decidedBy}</th>
            <th scope="col" className="number">
              {history.duration}
            </th>
            <th scope="col">{history.when}</th>
          </tr>
        </thead>
        <tbody>
          {executions.map((execution) => (
            <HistoryRow key={execution.tool_id} execution={execution} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const HistoryRow = memo(function HistoryRow({ execution }: { readonly execution: Execution }) {
  const words = useWords();
  const language = useLanguage();
  const { tool_id, tool_name, tool_params, status, risk_level, approval_id, execution_time_ms, exit_code } =
    execution;
  const isUndone = execution.undone_at !== null;
  const isNotStarted = execution.not_started ?? false;
  const state = callState({ status, isUndone, isNotStarted, exitCode: exit_code, error: execution.error });
  // Only a person can reject a call that asked for approval.
  const isRejected = status === 'rejected' && approval_id !== null;
  const decidedBy = isRejected ? 'user' : execution.approved_by;
  return (
    <tr className={`call-${status}`}>
      <td className="cell-call">
        <a href={links.call(tool_id)}>
          <Visible
            as="span"
            className="call-title"
            text={callTitle({ toolName: tool_name, params: tool_params, status }, words.calls)}
          />
        </a>
      </td>
      <td>
        <span className="with-mark">
          <StatusMark status={state} /> {stateText(state, words.calls)}
          {state === 'nonzero' && exit_code !== undefined && ` · ${words.calls.outcome.exit(exit_code)}`}
        </span>
      </td>
      <td>{risk_level && <RiskBadge risk={risk_level} />}</td>
      <td className="muted">{decidedBy !== null && words.history.by[decidedBy]}</td>
      <td className="number">{execution_time_ms === null ? '' : duration(execution_time_ms, words)}</td>
      <td className="muted nowrap">{moment(execution.created_at, language)}</td>
    </tr>
  );
});
