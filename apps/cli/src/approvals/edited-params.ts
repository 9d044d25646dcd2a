import { type Approval, type JsonValue, messageOf } from '@countersign/protocol';
import type { Paragraph } from '../screen/paragraph.ts';

export type Params = Approval['tool_params'];
export type EditedParams =
  | { readonly ok: true; readonly params: Params }
  | { readonly ok: false; readonly problem: string };

/** Parses the edited text as a JSON object; the server validates its fields (AP-6). */
export function readParams(text: string): EditedParams {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      return { ok: true, params: value as Params };
    }
    return { ok: false, problem: 'it is not an object' };
  } catch (error) {
    return { ok: false, problem: messageOf(error) };
  }
}

/** The lines that the person changed in each parameter, from the first difference to the last. */
export function changeParagraphs(before: Params, after: Params): Paragraph[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => {
    const [old, now] = [linesOf(before[name]), linesOf(after[name])];
    if (old.join('\n') === now.join('\n')) return [];
    const start = firstDifference(old, now);
    const end = firstDifference(old.slice(start).reverse(), now.slice(start).reverse());
    return [
      { text: name, style: 'dim' as const },
      ...old.slice(start, old.length - end).map((text) => line('- ', 'red', text)),
      ...now.slice(start, now.length - end).map((text) => line('+ ', 'green', text)),
    ];
  });
}

const linesOf = (value: JsonValue | undefined): string[] =>
  value === undefined ? [] : (typeof value === 'string' ? value : JSON.stringify(value)).split('\n');

function firstDifference(a: readonly string[], b: readonly string[]): number {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i += 1;
  return i;
}

const line = (lead: string, style: 'red' | 'green', text: string): Paragraph => ({
  lead,
  leadStyle: style,
  text,
  style,
});
