import { makeVisible } from '@countersign/protocol';
import { memo } from 'react';
import { useWords } from '../words/words.ts';

const marks = /(⟨U\+[0-9A-F]{4,6}⟩)/;
/** A character whose label is there twice: from the runner and from `makeVisible` here. */
const twice = /(.)(⟨U\+([0-9A-F]{4,6})⟩)\2/gu;

/** `makeVisible` for text that the runner may have made visible already, such as previews. */
export const visibleText = (text: string): string =>
  makeVisible(text).replace(twice, (all, letter: string, mark: string, code: string) =>
    letter.codePointAt(0) === Number.parseInt(code, 16) ? `${letter}${mark}` : all,
  );

interface VisibleProps {
  readonly text: string;
  /** The element to put around the text, if any. */
  readonly as?: 'blockquote' | 'code' | 'dd' | 'h2' | 'p' | 'pre' | 'span' | 'strong' | 'td';
  readonly className?: string;
  readonly role?: 'alert' | 'status';
}

/** Untrusted text of a tool, a model or a file, with hidden characters made visible and marked (UI-6). */
export const Visible = memo(function Visible({ text, as: Element, ...attributes }: VisibleProps) {
  const words = useWords();
  const parts = visibleText(text).split(marks);
  const shown = parts.map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text have no other key
      <mark key={index} className="hidden-character" title={words.preview.hiddenCharacter}>
        {part}
      </mark>
    ),
  );
  const whole = parts.length === 1 ? parts[0] : shown;
  return Element ? <Element {...attributes}>{whole}</Element> : whole;
});
