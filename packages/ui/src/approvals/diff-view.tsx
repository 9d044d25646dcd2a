import { type DiffLine, parseUnifiedDiff } from '@countersign/approvals';
import { memo, type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { changedSpans, type DiffRow, type SideLine, toRows } from './unified-diff.ts';

export type DiffLayout = 'unified' | 'split';

/** Longer diffs are cut at first, to keep the page quick. */
const shownAtFirst = 300;

interface DiffViewProps {
  readonly diff: string;
  readonly layout: DiffLayout;
}

/**
 * A unified diff, in one column or two. Signs and words mark changes, not colour alone. If part of it is not in sight,
 * a line below the box says so, which empty lines in the diff cannot push away.
 */
export const DiffView = memo(function DiffView({ diff, layout }: DiffViewProps) {
  const words = useWords();
  const [isWhole, setWhole] = useState(false);
  const lines = useMemo(() => parseUnifiedDiff(diff), [diff]);
  const rows = useMemo(() => toRows(lines), [lines]);
  const spans = useMemo(() => changedSpans(rows), [rows]);
  const box = useRef<HTMLDivElement>(null);
  const isCut = useIsCut(box);
  const limit = isWhole ? Number.POSITIVE_INFINITY : shownAtFirst;
  return (
    <>
      <div ref={box} className={isWhole ? 'diff-box whole' : 'diff-box'}>
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
                  .map((line, index) => <UnifiedRow key={keyOf(line, index)} line={line} spans={spans} />)
              : rows
                  .slice(0, limit)
                  .map((row, index) => <SplitRow key={rowKey(row, index)} row={row} spans={spans} />)}
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

type Spans = ReadonlyMap<SideLine, readonly [number, number]>;

function UnifiedRow({ line, spans }: { readonly line: DiffLine; readonly spans: Spans }) {
  if (line.kind === 'hunk' || line.kind === 'note') return <WideRow line={line} columns={4} />;
  return (
    <tr className={`diff-${line.kind}`}>
      <td className="diff-number">{'before' in line ? line.before : ''}</td>
      <td className="diff-number">{'after' in line ? line.after : ''}</td>
      <Sign line={line} />
      <td className="diff-text">
        <LineText line={line} spans={spans} />
      </td>
    </tr>
  );
}

function SplitRow({ row, spans }: { readonly row: DiffRow; readonly spans: Spans }) {
  if (row.kind === 'full') return <WideRow line={row.line} columns={6} />;
  return (
    <tr>
      <Side line={row.left} side="before" spans={spans} />
      <Side line={row.right} side="after" spans={spans} />
    </tr>
  );
}

function Side({ line, side, spans }: { line: SideLine | null; side: 'before' | 'after'; spans: Spans }) {
  if (line === null) return <td className="diff-none" colSpan={3} />;
  const number = side === 'before' && 'before' in line ? line.before : 'after' in line ? line.after : '';
  return (
    <>
      <td className={`diff-number diff-${line.kind}`}>{number}</td>
      <Sign line={line} />
      <td className={`diff-text diff-${line.kind}`}>
        <LineText line={line} spans={spans} />
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

function LineText({ line, spans }: { readonly line: SideLine; readonly spans: Spans }) {
  const span = line.kind === 'same' ? undefined : spans.get(line);
  if (!span || span[0] >= span[1]) return <Visible text={line.text} />;
  const [start, end] = span;
  return (
    <>
      <Visible text={line.text.slice(0, start)} />
      <Visible as="span" className="diff-changed" text={line.text.slice(start, end)} />
      <Visible text={line.text.slice(end)} />
    </>
  );
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

const keyOf = (line: DiffLine, index: number): string => `${index}${line.kind}`;
const rowKey = (row: DiffRow, index: number): string => `${index}${row.kind}`;

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
