import { useEffect, useState } from 'react';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

/** A connection that is lost for less is not reported. */
const quietMs = 1_500;

/** Says that the page may be out of date, since when, and when it tries again. */
export function ConnectionBanner() {
  const { connection: words, said } = useWords();
  const { connection, clock } = useLive();
  const state = useObservable(connection, (value) => value);
  const { staleSince } = state;
  const [isPatient, setPatient] = useState(true);
  useEffect(() => {
    setPatient(true);
    if (staleSince === null) return;
    return clock.after(Math.max(0, staleSince + quietMs - clock.monotonic()), () => setPatient(false));
  }, [staleSince, clock]);
  if (state.status === 'closed' && state.why === 'refused') {
    return (
      <div className="banner danger-banner" role="alert">
        {words.refused} <Visible text={said(state.error)} />
      </div>
    );
  }
  const isLost = staleSince !== null && !isPatient && state.status !== 'closed';
  return (
    <div className={isLost ? 'banner caution-banner' : 'banner-none'} role="status">
      {isLost && (
        <>
          {words.lost}{' '}
          {words.reconnecting(state.status === 'waiting' ? Math.ceil(state.retryInMs / 1000) : 0)}
        </>
      )}
    </div>
  );
}
