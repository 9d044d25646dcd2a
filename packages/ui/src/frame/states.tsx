import type { ReactNode } from 'react';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { Button } from './button.tsx';

interface EmptyStateProps {
  readonly title: string;
  readonly hint?: string;
  readonly children?: ReactNode;
}

export function EmptyState({ title, hint, children }: EmptyStateProps) {
  return (
    <div className="state">
      <svg className="state-mark" viewBox="0 0 48 48" width="48" height="48" aria-hidden="true">
        <path d="M10 34c6-14 10-20 13-20 4 0-3 18 1 18 3 0 5-9 8-9 2 0 1 7 4 7 1 0 2-1 3-3" />
        <path d="M8 41h32" className="state-line" />
      </svg>
      <h2>{title}</h2>
      {hint !== undefined && <p className="muted">{hint}</p>}
      {children}
    </div>
  );
}

export function LoadingState() {
  const { states } = useWords();
  return (
    <div className="state" role="status" data-loading>
      <span className="spinner" aria-hidden="true" />
      <p className="muted">{states.loading}</p>
    </div>
  );
}

interface ErrorStateProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
}

export function ErrorState({ error, onRetry }: ErrorStateProps) {
  const { states, said } = useWords();
  return (
    <div className="state" role="alert">
      <h2>{states.failed}</h2>
      <Visible as="p" className="muted" text={said(error instanceof Error ? error : String(error))} />
      {onRetry && <Button onClick={onRetry}>{states.retry}</Button>}
    </div>
  );
}

interface QueryStateProps {
  readonly query: {
    readonly isPending: boolean;
    readonly isError: boolean;
    readonly error: unknown;
    refetch(): unknown;
  };
}

/** Says that a query is loading or has failed. Draws nothing once there is data. */
export function QueryState({ query }: QueryStateProps) {
  if (query.isPending) return <LoadingState />;
  return query.isError ? <ErrorState error={query.error} onRetry={() => void query.refetch()} /> : null;
}

export function CommandLine({ text }: { readonly text: string }) {
  return (
    <pre className="command-line">
      <code>{text}</code>
    </pre>
  );
}
