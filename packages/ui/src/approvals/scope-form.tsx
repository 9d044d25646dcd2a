import {
  type ApprovalRequest,
  type ApproveChoice,
  choiceOf,
  ruleOf,
  scopeLabel,
} from '@countersign/approvals';
import type { CallResponse } from '@countersign/client';
import type { OfferedScope, PolicyRule } from '@countersign/protocol';
import { useEffect, useId, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useLive } from '../live/live-context.ts';
import { Visible } from '../text/visible.tsx';
import { useWords, type Words } from '../words/words.ts';

interface ScopeFormProps {
  readonly approval: ApprovalRequest;
  readonly isBlocked: boolean;
  onCancel(): void;
  onApprove(choice: ApproveChoice): void;
}

/** Approves a class of calls, the whole conversation, or always, and explains each choice (AP-4). */
export function ScopeForm({ approval, isBlocked, onCancel, onApprove }: ScopeFormProps) {
  const words = useWords();
  const name = useId();
  const offers = approval.offered_scopes;
  const [index, setIndex] = useState(0);
  const [includesHigh, setIncludesHigh] = useState(false);
  const chosen = offers[index];
  const { approval: names } = words;
  if (!chosen) {
    return (
      <div className="card-form card-step">
        <p>{names.scopeNone}</p>
        <div className="buttons">
          <Button onClick={onCancel}>{names.back}</Button>
        </div>
      </div>
    );
  }
  const warning = warningOf(chosen, words);
  return (
    <form
      className="card-form card-step"
      aria-label={names.scopeTitle}
      onSubmit={(event) => {
        event.preventDefault();
        onApprove(choiceOf(chosen, chosen.scope === 'session' && includesHigh));
      }}
    >
      <fieldset className="scopes">
        <legend>{names.scopeTitle}</legend>
        {offers.map((offer, place) => (
          <label key={`${offer.scope} ${offer.pattern}`} className="scope">
            <input
              type="radio"
              name={name}
              checked={place === index}
              // biome-ignore lint/a11y/noAutofocus: the person has just asked for this form
              autoFocus={place === 0}
              onChange={() => setIndex(place)}
            />
            <span>
              <Visible text={scopeLabel(offer, words.approval)} />{' '}
              <span className="muted">{names.scopeUpTo(words.risk.short[offer.max_risk])}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {chosen.scope === 'session' && (
        <label className="check-field">
          <input
            type="checkbox"
            checked={includesHigh}
            onChange={(event) => setIncludesHigh(event.target.checked)}
          />
          <span>{names.includeHigh}</span>
        </label>
      )}
      {warning !== null && <p className="notice">{warning}</p>}
      {chosen.scope === 'session' && includesHigh && (
        <p className="notice danger">{names.includeHighWarning}</p>
      )}
      {chosen.scope === 'always' && <BacktestLine rule={ruleOf(chosen)} />}
      <div className="buttons">
        <Button type="submit" look="primary" disabled={isBlocked}>
          {chosen.scope === 'always' ? names.alwaysApprove : names.scopeApprove}
        </Button>
        <Button onClick={onCancel}>{names.cancel}</Button>
      </div>
    </form>
  );
}

function warningOf({ scope }: OfferedScope, { approval }: Words): string | null {
  if (scope === 'session') return approval.scopeSessionWarning;
  return scope === 'always' ? approval.scopeAlwaysWarning : null;
}

type Outcome = { readonly found: CallResponse<'backtestPolicy'> } | { readonly problem: string } | null;

/** Says how many recorded calls the rule matches, before it is saved (RK-5). */
function BacktestLine({ rule }: { readonly rule: PolicyRule }) {
  const { client } = useLive();
  const { approval, said } = useWords();
  const [outcome, setOutcome] = useState<Outcome>(null);
  const asked = JSON.stringify(rule);
  useEffect(() => {
    const stop = new AbortController();
    setOutcome(null);
    const body = { rule: JSON.parse(asked) as PolicyRule };
    client.backtestPolicy({ body }, { signal: stop.signal }).then(
      (found) => setOutcome({ found }),
      (error: unknown) => {
        if (!stop.signal.aborted)
          setOutcome({ problem: error instanceof Error ? error.message : String(error) });
      },
    );
    return () => stop.abort();
  }, [asked, client]);
  return (
    <p className="backtest" role="status">
      {outcome === null && approval.backtestBusy}
      {outcome !== null && 'problem' in outcome && (
        <>
          {approval.backtestFailed} <Visible text={said(outcome.problem)} />
        </>
      )}
      {outcome !== null &&
        'found' in outcome &&
        (outcome.found.matched === 0
          ? approval.backtestNone
          : approval.backtest(outcome.found.matched, outcome.found.rejected_before))}
    </p>
  );
}
