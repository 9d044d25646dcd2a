import type { Clock } from '@countersign/client';
import { useEffect, useState } from 'react';
import { clockTime } from '../text/duration.ts';
import { useWords } from '../words/words.ts';

interface CountdownProps {
  /** A time of the monotonic clock. */
  readonly deadline: number;
  readonly totalMs: number;
  readonly clock: Clock;
}

/** Shows the time left to decide. Nothing happens at zero: only the server expires an approval (AP-3). */
export function Countdown({ deadline, totalMs, clock }: CountdownProps) {
  const { approval } = useWords();
  const left = useTimeLeft(deadline, clock);
  const share = totalMs > 0 ? Math.min(1, Math.max(0, left / totalMs)) : 0;
  const urgency = left <= 30_000 ? 'urgent' : left <= 60_000 ? 'soon' : 'calm';
  return (
    <span
      className={`countdown ${urgency}`}
      role="timer"
      aria-live="off"
      aria-label={`${approval.timeLeftLabel}: ${clockTime(left)}`}
    >
      <svg viewBox="0 0 20 20" width="16" height="16" aria-hidden="true">
        <circle cx="10" cy="10" r="8" className="countdown-track" />
        <circle
          cx="10"
          cy="10"
          r="8"
          className="countdown-left"
          pathLength={100}
          strokeDasharray={`${share * 100} 100`}
          transform="rotate(-90 10 10)"
        />
      </svg>
      <span aria-hidden="true">{approval.timeLeft(clockTime(left))}</span>
    </span>
  );
}

/** The time since `since`, drawn again each second. */
export function useMsSince(since: number, clock: Clock): number {
  const [now, setNow] = useState(() => clock.monotonic());
  useEffect(() => {
    let cancel = () => {};
    const tick = () => {
      setNow(clock.monotonic());
      cancel = clock.after(1000, tick);
    };
    tick();
    return () => cancel();
  }, [clock]);
  return Math.max(0, now - since);
}

function useTimeLeft(deadline: number, clock: Clock): number {
  const [now, setNow] = useState(() => clock.monotonic());
  useEffect(() => {
    let cancel = () => {};
    const tick = () => {
      const at = clock.monotonic();
      setNow(at);
      // Redraws just after the shown second changes; stops at zero.
      if (at < deadline) cancel = clock.after(((deadline - at) % 1000) + 5, tick);
    };
    tick();
    return () => cancel();
  }, [deadline, clock]);
  return Math.max(0, deadline - now);
}
