import {
  type ApprovalRequest,
  type ApproveChoice,
  backtestOf,
  choiceOf,
  patternsAt,
  patternsOf,
  type ScopeChoice,
  scopeChoices,
  scopeLabel,
} from '@countersign/approvals';
import type { CallResponse } from '@countersign/client';
import { messageOf, type OfferedScope, type RequestBody } from '@countersign/protocol';
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

/**
 * Approves a class of calls, the whole conversation, or always, and explains each choice. Of a line of several commands, the
 * person may choose for each command how much of it is covered (AP-4).
 */
export function ScopeForm({ approval, isBlocked, onCancel, onApprove }: ScopeFormProps) {
  const words = useWords();
  const name = useId();
  const choices = scopeChoices(approval.offered_scopes);
  const [index, setIndex] = useState(0);
  const [includesHigh, setIncludesHigh] = useState(false);
  const [picked, setPicked] = useState<ReadonlyMap<number, string>>(new Map());
  const choice = choices[index];
  const { approval: names } = words;
  if (!choice) {
    return (
      <div className="card-form card-step">
        <p>{names.scopeNone}</p>
        <div className="buttons">
          <Button onClick={onCancel}>{names.back}</Button>
        </div>
      </div>
    );
  }
  const chosen = { ...choice, offer: withPatterns(choice.offer, approval.offered_scopes, picked) };
  const { scope } = chosen.offer;
  const warning = warningOf(chosen, words);
  return (
    <form
      className="card-form card-step"
      aria-label={names.scopeTitle}
      onSubmit={(event) => {
        event.preventDefault();
        onApprove(choiceOf(chosen, scope === 'session' && includesHigh));
      }}
    >
      <fieldset className="scopes">
        <legend>{names.scopeTitle}</legend>
        {choices.map((each, place) => (
          <label key={`${each.offer.scope} ${each.onlyHere} ${each.offer.pattern}`} className="scope">
            <input
              type="radio"
              name={name}
              checked={place === index}
              // biome-ignore lint/a11y/noAutofocus: the person has just asked for this form
              autoFocus={place === 0}
              onChange={() => {
                setIndex(place);
                setPicked(new Map());
              }}
            />
            <span>
              <Visible text={scopeLabel(each, words.approval)} />{' '}
              <span className="muted">{names.scopeUpTo(words.risk.short[each.offer.max_risk])}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <CommandPatterns
        offers={approval.offered_scopes}
        chosen={chosen.offer}
        onPick={(place, pattern) => setPicked(new Map([...picked, [place, pattern]]))}
      />
      {scope === 'session' && (
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
      {scope === 'session' && includesHigh && <p className="notice danger">{names.includeHighWarning}</p>}
      {scope === 'always' && <BacktestLine body={backtestOf(chosen.offer)} />}
      <div className="buttons">
        <Button type="submit" look="primary" disabled={isBlocked}>
          {scope === 'always' && !chosen.onlyHere ? names.alwaysApprove : names.scopeApprove}
        </Button>
        <Button onClick={onCancel}>{names.cancel}</Button>
      </div>
    </form>
  );
}

interface CommandPatternsProps {
  readonly offers: readonly OfferedScope[];
  readonly chosen: OfferedScope;
  onPick(place: number, pattern: string): void;
}

/** For a line of several commands: how much of each command is covered, from exactly it to its program. */
function CommandPatterns({ offers, chosen, onPick }: CommandPatternsProps) {
  const { approval } = useWords();
  const patterns = patternsOf(chosen);
  if (patterns.length < 2) return null;
  return patterns.map((pattern, place) => {
    const found = patternsAt(offers, place);
    if (found.length < 2) return null;
    return (
      // The commands of a line keep their places.
      // biome-ignore lint/suspicious/noArrayIndexKey: see above
      <label key={place} className="command-pattern">
        <span>
          <Visible text={approval.coversOf(found[0] ?? '')} />
        </span>
        <select value={pattern} onChange={(event) => onPick(place, event.target.value)}>
          {found.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
    );
  });
}

/** The offer with other patterns for some commands of the line, and the rules of those patterns. */
function withPatterns(
  offer: OfferedScope,
  offers: readonly OfferedScope[],
  picked: ReadonlyMap<number, string>,
): OfferedScope {
  if (picked.size === 0) return offer;
  const patterns = patternsOf(offer).map((pattern, place) => picked.get(place) ?? pattern);
  const all = offers.flatMap(({ rules }) => rules);
  const rules = [...new Set(patterns)].flatMap(
    (pattern) => all.find(({ command }) => command === pattern) ?? [],
  );
  return { ...offer, pattern: patterns.join('\n'), rules };
}

function warningOf({ offer: { scope }, onlyHere }: ScopeChoice, { approval }: Words): string | null {
  if (scope === 'session') return approval.scopeSessionWarning;
  if (scope !== 'always') return null;
  return onlyHere ? approval.scopeProjectWarning : approval.scopeAlwaysWarning;
}

type Outcome = { readonly found: CallResponse<'backtestPolicy'> } | { readonly problem: string } | null;

/** Says how many recorded calls the rules match, before they are granted (RK-5). */
function BacktestLine({ body }: { readonly body: RequestBody<'backtestPolicy'> }) {
  const { client } = useLive();
  const { approval, said } = useWords();
  const [outcome, setOutcome] = useState<Outcome>(null);
  const asked = JSON.stringify(body);
  useEffect(() => {
    const stop = new AbortController();
    setOutcome(null);
    const rules = JSON.parse(asked) as RequestBody<'backtestPolicy'>;
    client.backtestPolicy({ body: rules }, { signal: stop.signal }).then(
      (found) => setOutcome({ found }),
      (error: unknown) => {
        if (!stop.signal.aborted) setOutcome({ problem: messageOf(error) });
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
