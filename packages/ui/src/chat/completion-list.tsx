import { useEffect, useRef } from 'react';
import { useWords } from '../words/words.ts';
import type { Completion, CompletionOption } from './completion.ts';

interface CompletionListProps {
  readonly id: string;
  readonly kind: Completion['kind'];
  readonly options: readonly CompletionOption[];
  /** Index of the option chosen with the arrow keys; -1 for none. */
  readonly active: number;
  optionId(index: number): string;
  onPick(option: CompletionOption): void;
}

/** The list of completions. The focus stays in the message field; arrow keys move through the list. */
export function CompletionList({ id, kind, options, active, optionId, onPick }: CompletionListProps) {
  const { chat } = useWords();
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  return (
    <div
      ref={list}
      id={id}
      className="completion"
      role="listbox"
      tabIndex={-1}
      aria-label={kind === 'tool' ? chat.completion : kind === 'file' ? chat.files : chat.parameters}
    >
      {options.map((option, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox handles the keys
        <div
          key={option.label}
          id={optionId(index)}
          className="completion-option"
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onPick(option)}
        >
          <code>{option.label}</code>
          {kind === 'parameter' && (
            <span className={option.isRequired ? 'caution' : 'muted'}>
              {option.isRequired ? chat.required : chat.optional}
            </span>
          )}
          <span className="completion-detail">{option.detail}</span>
        </div>
      ))}
    </div>
  );
}
