import type { DiffLine } from '@countersign/approvals';
import { memo, type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { HighlightedText } from '../results/highlighted-text.tsx';
import type { Token } from '../results/highlighter.ts';
import { useHighlighting } from '../results/use-highlighting.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { changedSpans, type DiffRow, type SideLine, toRows } from './unified-diff.ts';

export type DiffLayout = 'unified' | 'split';

/** Number of lines shown at first, so that a long diff does not slow down the page. */
const shownAtFirst = 300;

interface DiffLinesProps {
  readonly lines: readonly DiffLine[];
  /** Tells the language of the lines. */
  readonly path: string;
  readonly layout: DiffLayout;
}

/**
 * A unified diff, in one column or two. Signs and words mark changes, not colour alone. If part of the diff is out of
 * sight, a line below the box says so: empty lines inside the diff cannot push that line away.
 */
export const DiffLines = memo(function DiffLines({ lines: all, path, layout }: DiffLinesProps) {
  const words = useWords();
  const lines = useMemo(() => withoutPlainHead(all), [all]);
  const [isWhole, setWhole] = useState(false);
  const rows = useMemo(() => toRows(lines), [lines]);
  const spans = useMemo(() => changedSpans(rows), [rows]);
  const tokens = useDiffHighlighting(path, lines);
  const looks = useMemo(() => ({ spans, tokens }), [spans, tokens]);
  const box = useRef<HTMLDivElement>(null);
  const isCut = useIsCut(box);
  const limit = isWhole ? Number.POSITIVE_INFINITY : shownAtFirst;
  return (
    <>
      <div ref={box} className={isWhole ? 'diff-box whole' : 'diff-box'} data-unfolded={isWhole || undefined}>
        <table className={`diff diff-${layout}`}>
          {layout === 'split' && (
            <colgroup>
              <col className="col-number" />
              <col className="col-sign" />
              <col />
              <col className="col-number" />
              <col className="col-sign" />
              <col />
            </colgroup>
          )}
          <tbody>
            {layout === 'unified'
              ? lines
                  .slice(0, limit)
                  .map((line, index) => <UnifiedRow key={rowKey(line, index)} line={line} looks={looks} />)
              : rows
                  .slice(0, limit)
                  .map((row, index) => <SplitRow key={rowKey(row, index)} row={row} looks={looks} />)}
          </tbody>
        </table>
      </div>
      {(lines.length > limit || isCut) && (
        <p className="diff-more caution">
          {words.preview.notInSight}{' '}
          <Button look="small" onClick={() => setWhole(true)}>
            {words.preview.lines(lines.length)}
          </Button>
        </p>
      )}
    </>
  );
});

/** Leaves out the head of a first hunk that begins with the file: the line numbers say as much. */
function withoutPlainHead(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isPlain = lines[0]?.kind === 'hunk' && /^@@ -[01](,\d+)? \+[01](,\d+)? @@$/.test(lines[0].text);
  return isPlain ? lines.slice(1) : lines;
}

/** Beside the text of a line: which range has changed, and its colours. */
interface Looks {
  readonly spans: ReadonlyMap<SideLine, readonly [number, number]>;
  readonly tokens: ReadonlyMap<SideLine, readonly Token[]>;
}

function UnifiedRow({ line, looks }: { readonly line: DiffLine; readonly looks: Looks }) {
  if (line.kind === 'hunk' || line.kind === 'note') return <WideRow line={line} columns={4} />;
  return (
    <tr className={`diff-${line.kind}`}>
      <td className="diff-number">{('before' in line && line.before) || ''}</td>
      <td className="diff-number">{('after' in line && line.after) || ''}</td>
      <Sign line={line} />
      <td className="diff-text">
        <LineText line={line} looks={looks} />
      </td>
    </tr>
  );
}

function SplitRow({ row, looks }: { readonly row: DiffRow; readonly looks: Looks }) {
  if (row.kind === 'full') return <WideRow line={row.line} columns={6} />;
  return (
    <tr>
      <Side line={row.left} side="before" looks={looks} />
      <Side line={row.right} side="after" looks={looks} />
    </tr>
  );
}

function Side({ line, side, looks }: { line: SideLine | null; side: 'before' | 'after'; looks: Looks }) {
  if (line === null) return <td className="diff-none" colSpan={3} />;
  const number = side === 'before' && 'before' in line ? line.before : 'after' in line ? line.after : '';
  return (
    <>
      <td className={`diff-number diff-${line.kind}`}>{number}</td>
      <Sign line={line} />
      <td className={`diff-text diff-${line.kind}`}>
        <LineText line={line} looks={looks} />
      </td>
    </>
  );
}

function Sign({ line }: { readonly line: SideLine }) {
  const { preview } = useWords();
  const sign = line.kind === 'added' ? '+' : line.kind === 'removed' ? '−' : ' ';
  const name =
    line.kind === 'added' ? preview.addedLine : line.kind === 'removed' ? preview.removedLine : undefined;
  return (
    <td className={`diff-sign diff-${line.kind}`}>
      {name === undefined ? sign : <span title={name}>{sign}</span>}
    </td>
  );
}

function LineText({ line, looks }: { readonly line: SideLine; readonly looks: Looks }) {
  const changed = line.kind === 'same' ? undefined : looks.spans.get(line);
  return <HighlightedText text={line.text} tokens={looks.tokens.get(line)} changed={changed} />;
}

/** The colours of each line. Both sides are highlighted as texts of their own, so that a comment may have several lines. */
function useDiffHighlighting(
  path: string,
  lines: readonly DiffLine[],
): ReadonlyMap<SideLine, readonly Token[]> {
  const [before, after] = useMemo(
    () => [lines.filter((line) => 'before' in line), lines.filter((line) => 'after' in line)],
    [lines],
  );
  const oldTokens = useHighlighting(
    path,
    useMemo(() => before.map(({ text }) => text), [before]),
  );
  const newTokens = useHighlighting(
    path,
    useMemo(() => after.map(({ text }) => text), [after]),
  );
  return useMemo(() => {
    const tokens = new Map<SideLine, readonly Token[]>();
    for (const [index, line] of before.entries()) tokens.set(line, oldTokens?.[index] ?? []);
    for (const [index, line] of after.entries()) tokens.set(line, newTokens?.[index] ?? []);
    return tokens;
  }, [before, after, oldTokens, newTokens]);
}

function WideRow({
  line,
  columns,
}: {
  readonly line: { kind: 'hunk' | 'note'; text: string };
  columns: number;
}) {
  return (
    <tr className={`diff-${line.kind}`}>
      <td colSpan={columns} className="diff-text">
        <Visible text={line.text} />
      </td>
    </tr>
  );
}

const rowKey = ({ kind }: DiffLine | DiffRow, index: number): string => `${index}${kind}`;

/** Whether the content of a box is higher than the box. */
function useIsCut(box: RefObject<HTMLElement | null>): boolean {
  const [isCut, setCut] = useState(false);
  useEffect(() => {
    const element = box.current;
    if (!element || typeof ResizeObserver === 'undefined') return;
    const observer = new ResizeObserver(() => setCut(element.scrollHeight > element.clientHeight + 1));
    observer.observe(element);
    for (const content of element.children) observer.observe(content);
    return () => observer.disconnect();
  }, [box]);
  return isCut;
}
