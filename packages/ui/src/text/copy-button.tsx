import { useEffect, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useWords } from '../words/words.ts';

const noticeMs = 1_500;

/** Copies a text, and says so for a moment. `text` is called on the click. */
export function CopyButton({ text, label }: { readonly text: () => string; readonly label?: string }) {
  const { chat } = useWords();
  const [copied, setCopied] = useState<boolean | null>(null);
  useEffect(() => {
    if (copied === null) return;
    const timer = setTimeout(() => setCopied(null), noticeMs);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setCopied(true);
    } catch {
      setCopied(false); // no clipboard over plain http, or the browser refuses
    }
  };
  return (
    <Button look="quiet small copy" title={label ?? chat.copy} onClick={() => void copy()}>
      <svg className="icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        {copied ? <path d="M3.5 8.5 6.5 11.5 12.5 4.5" /> : <path d="M5.5 5.5h7v8h-7zM3.5 10.5v-8h7" />}
      </svg>
      <span className={copied === null ? 'visually-hidden' : ''} role="status">
        {copied === null ? (label ?? chat.copy) : copied ? chat.copied : chat.notCopied}
      </span>
    </Button>
  );
}
