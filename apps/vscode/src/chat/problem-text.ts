import { visibleLine } from '@countersign/protocol';

/** The parts of an editor's diagnostic that a message has. Lines count from 0. */
interface Problem {
  readonly message: string;
  readonly source?: string | undefined;
  readonly code?: string | number | { readonly value: string | number } | undefined;
  readonly range: { readonly start: { readonly line: number } };
}

const maxMessage = 500;

/** A problem on one line: `L3: Type 'string' is not assignable to type 'number'. (ts 2322)`. */
export function problemText({ message, source, code, range }: Problem): string {
  const name = [source, typeof code === 'object' ? code.value : code]
    .filter((part) => part !== undefined)
    .join(' ');
  const text = visibleLine(message.replaceAll(/\s+/g, ' ').trim()).slice(0, maxMessage);
  return `L${range.start.line + 1}: ${text}${name === '' ? '' : ` (${visibleLine(name)})`}`;
}
