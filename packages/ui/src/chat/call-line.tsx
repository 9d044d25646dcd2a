import { type CallState, stateText } from '@countersign/approvals';
import type { ReactNode } from 'react';
import { StatusMark } from '../text/status-mark.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

interface CallLineProps {
  readonly state: CallState;
  readonly title: string;
  /** Known facts: the outcome, the duration, who decided. */
  readonly facts: readonly string[];
  readonly isOpen: boolean;
  onToggle(): void;
  /** Further buttons, beside the one that unfolds. */
  readonly children?: ReactNode;
}

/** States that the icon and the facts tell; screen readers still hear them. */
const quietStates: readonly CallState[] = ['completed', 'nonzero', 'rejected'];

/** A call as one line. Clicking it anywhere unfolds it. */
export function CallLine({ state, title, facts, isOpen, onToggle, children }: CallLineProps) {
  const { calls } = useWords();
  const isQuiet = quietStates.includes(state);
  return (
    <div className="call-line">
      <button type="button" className="call-toggle" aria-expanded={isOpen} onClick={onToggle}>
        <StatusMark status={state} />
        <Visible as="span" className="call-title" text={title} />
        <span className="call-facts">
          <span className={isQuiet ? 'visually-hidden' : 'call-state'}>{stateText(state, calls)}</span>
          {facts.map((fact) => (
            <Visible key={fact} as="span" className="call-fact" text={fact} />
          ))}
        </span>
        <svg className="icon call-fold" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
          <path d="M4 6l4 4 4-4" />
        </svg>
      </button>
      {children}
    </div>
  );
}
