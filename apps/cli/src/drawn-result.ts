import {
  type Landing,
  landingNotes,
  type ResultView,
  resultLines,
  type StyledLine,
} from '@countersign/approvals';
import { layOut } from './screen/paragraph.ts';
import { drawStyled, wrapStyled } from './screen/styled-text.ts';
import { paints } from './terminal.ts';
import type { Words } from './words.ts';

export interface ResultFrame {
  readonly columns: number;
  readonly color: boolean;
  readonly words: Pick<Words, 'calls' | 'activity' | 'said'>;
}

/** How many lines of a failed command are shown. */
const failureLines = 10;
const margin = '  ';
/** A longer result is cut even if the person asks for all of it: a terminal keeps only so much. */
const maxLines = 1_000;

/** How many files of a command are named below its line. */
const landedFiles = 6;

/** How much of a result is shown below its call's line. A failure shows its last lines by itself. */
const shownLines: { readonly [Kind in ResultView['kind']]?: number } = {
  terminal: 3,
  diff: 12,
  status: 6,
  commits: 3,
  diagnostics: 6,
};

/** The part of a result that stands below the line of its call: the end of an output, the beginning of anything else. */
export function resultExcerpt(view: ResultView, isFailed: boolean, frame: ResultFrame): string[] {
  if (view.kind === 'terminal' && view.landing) {
    const { landing, ...output } = view;
    return [...resultExcerpt(output, isFailed, frame), ...landingExcerpt(landing, frame)];
  }
  const lines = resultLines(view, frame.words.calls);
  const isOutput = view.kind === 'terminal';
  const most = isFailed && isOutput ? failureLines : (shownLines[view.kind] ?? 0);
  if (most === 0 || lines.length === 0) return [];
  const shown = (isOutput ? lines.slice(-most) : lines.slice(0, most)).map((line) => cut(line, frame));
  const rest = lines.length - shown.length;
  if (rest === 0) return shown;
  const hidden = `${margin}${paints(frame.color).dim(frame.words.activity.hidden(rest))}`;
  return isOutput ? [hidden, ...shown] : [...shown, hidden];
}

/** The first files that a command changed, and every note about what did not land. */
function landingExcerpt(landing: Landing, frame: ResultFrame): string[] {
  const { color, words } = frame;
  const files = resultLines({ kind: 'changed', files: landing.files }, words.calls);
  const shown = files.slice(0, landedFiles).map((line) => cut(line, frame));
  const rest = files.length - shown.length;
  const notes = landingNotes(landing, words.calls, words.said);
  return [
    ...shown,
    ...(rest > 0 ? [`${margin}${paints(color).dim(words.activity.hidden(rest))}`] : []),
    ...notes.flatMap((note) =>
      layOut([{ text: note, style: 'yellow' }], frame.columns - margin.length - 1, color).map(
        (line) => `${margin}${line}`,
      ),
    ),
  ];
}

/** A whole result, wrapped. If it is very long: the end of an output, the beginning of anything else. */
export function wholeResult(view: ResultView, { columns, color, words }: ResultFrame): string[] {
  const lines = resultLines(view, words.calls);
  const shown = view.kind === 'terminal' ? lines.slice(-maxLines) : lines.slice(0, maxLines);
  return shown
    .flatMap((line) => wrapStyled(line, columns - margin.length - 1))
    .map((line) => `${margin}${drawStyled(line, color)}`);
}

function cut(line: StyledLine, { columns, color }: ResultFrame): string {
  const [first = [], ...more] = wrapStyled(line, columns - margin.length - 2);
  return `${margin}${drawStyled(first, color)}${more.length > 0 ? '…' : ''}`;
}
