import { type ReactNode, useEffect, useState } from 'react';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { Button } from './button.tsx';

/** A lost connection is not reported before this time has passed. */
const reportAfterMs = 1_500;

interface ConnectionBannerProps {
  /** Called after a click on "Retry now", where more than this page has to reconnect. */
  readonly onRetry?: () => void;
  /** What else helps, beside "Retry now". */
  readonly children?: ReactNode;
}

/** Says that the page may be out of date, and when it reconnects. */
export function ConnectionBanner({ onRetry, children }: ConnectionBannerProps) {
  const { connection: words, said } = useWords();
  const live = useLive();
  const { connection, clock } = live;
  const state = useObservable(connection, (value) => value);
  const { staleSince } = state;
  const [isReported, setReported] = useState(false);
  useEffect(() => {
    setReported(false);
    if (staleSince === null) return;
    return clock.after(Math.max(0, staleSince + reportAfterMs - clock.monotonic()), () => setReported(true));
  }, [staleSince, clock]);
  if (state.status === 'closed' && state.why === 'refused') {
    return (
      <div className="banner danger-banner" role="alert">
        {words.refused} <Visible text={said(state.error)} />
      </div>
    );
  }
  const isLost = staleSince !== null && isReported && state.status !== 'closed';
  return (
    <div className={isLost ? 'banner caution-banner' : 'banner-none'} role="status">
      {isLost && (
        <>
          {words.lost}{' '}
          {words.reconnecting(state.status === 'waiting' ? Math.ceil(state.retryInMs / 1000) : 0)}
          <span className="banner-actions">
            <Button
              look="small"
              onClick={() => {
                live.retryNow();
                onRetry?.();
              }}
            >
              {words.retryNow}
            </Button>
            {children}
          </span>
        </>
      )}
    </div>
  );
}
