import { messageOf } from '@countersign/protocol';
import { Component, type ReactNode } from 'react';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { Button } from './button.tsx';

interface ErrorBoundaryProps {
  readonly children: ReactNode;
}

/** Keeps the page, and pending decisions, usable when one part fails. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { readonly error: unknown }> {
  override readonly state = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error: error ?? 'unknown' };
  }

  override render() {
    const { error } = this.state;
    return error === undefined ? this.props.children : <Failure error={error} />;
  }
}

function Failure({ error }: { readonly error: unknown }) {
  const { states } = useWords();
  return (
    <div className="state" role="alert">
      <h2>{states.unexpected}</h2>
      <Visible as="p" className="muted" text={messageOf(error)} />
      <Button onClick={() => window.location.reload()}>{states.reload}</Button>
    </div>
  );
}
