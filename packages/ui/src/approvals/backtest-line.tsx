import type { CallResponse } from '@countersign/client';
import type { PolicyRule } from '@countersign/protocol';
import { useEffect, useState } from 'react';
import { useLive } from '../live/live-context.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

type Outcome = { readonly found: CallResponse<'backtestPolicy'> } | { readonly problem: string } | null;

/** What the rule would have decided on the recorded history, before it is saved. */
export function BacktestLine({ rule }: { readonly rule: PolicyRule }) {
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
