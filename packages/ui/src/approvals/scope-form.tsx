import {
  type ApprovalRequest,
  type ApproveChoice,
  choiceOf,
  ruleOf,
  scopeLabel,
} from '@countersign/approvals';
import type { OfferedScope } from '@countersign/protocol';
import { useId, useState } from 'react';
import { Visible } from '../text/visible.tsx';
import { useWords, type Words } from '../words/words.ts';
import { BacktestLine } from './backtest-line.tsx';

interface ScopeFormProps {
  readonly approval: ApprovalRequest;
  readonly isBlocked: boolean;
  onCancel(): void;
  onApprove(choice: ApproveChoice): void;
}

/** AP-4: approve a class of calls, the whole conversation, or always, each with what it means. */
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
          <button type="button" className="button" onClick={onCancel}>
            {names.back}
          </button>
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
        <button type="submit" className="button primary" disabled={isBlocked}>
          {chosen.scope === 'always' ? names.alwaysApprove : names.scopeApprove}
        </button>
        <button type="button" className="button" onClick={onCancel}>
          {names.cancel}
        </button>
      </div>
    </form>
  );
}

function warningOf({ scope }: OfferedScope, { approval }: Words): string | null {
  if (scope === 'session') return approval.scopeSessionWarning;
  return scope === 'always' ? approval.scopeAlwaysWarning : null;
}
