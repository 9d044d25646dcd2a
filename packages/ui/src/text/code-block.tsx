import type { ReactNode } from 'react';

interface CodeBlockProps {
  readonly className?: string;
  readonly children: ReactNode;
}

/** A block that scrolls when it is too high, and so must be reachable by keyboard. */
export function CodeBlock({ className = '', children }: CodeBlockProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <pre className={`code-block ${className}`} tabIndex={0}>
      {children}
    </pre>
  );
}
