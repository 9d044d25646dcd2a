import { type ReactNode, useRef } from 'react';
import { CopyButton } from './copy-button.tsx';

interface CodeBlockProps {
  readonly className?: string;
  readonly children: ReactNode;
}

/** Code or output in a box that scrolls, with a button that copies it as it is shown. */
export function CodeBlock({ className = '', children }: CodeBlockProps) {
  const block = useRef<HTMLPreElement>(null);
  return (
    <div className="code-box">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre ref={block} className={`code-block ${className}`} tabIndex={0}>
        {children}
      </pre>
      <CopyButton text={() => block.current?.textContent ?? ''} />
    </div>
  );
}
