import { type DiffLine, parseUnifiedDiff } from '@countersign/approvals';
import type { Preview } from '@countersign/protocol';
import { type ReactNode, useMemo } from 'react';
import { usePreference } from '../frame/preferences.ts';
import { useIsNarrow } from '../frame/use-is-narrow.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { type DiffLayout, DiffLines } from './diff-view.tsx';
import { countChanges } from './unified-diff.ts';

type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];

/** The files that would change, each with its diff, and a switch between one column and two. */
export function FileDiffs({ files }: { readonly files: readonly FileDiff[] }) {
  const { preview: names } = useWords();
  const [, setLayout] = usePreference('diffLayout');
  const layout = useDiffLayout();
  const layouts: readonly DiffLayout[] = ['unified', 'split'];
  return (
    <div className="preview">
      <fieldset className="segmented diff-layout">
        <legend className="visually-hidden">{names.layout}</legend>
        {layouts.map((one) => (
          <button key={one} type="button" aria-pressed={layout === one} onClick={() => setLayout(one)}>
            {names[one]}
          </button>
        ))}
      </fieldset>
      {files.map((file) => (
        <FileDiffBlock key={file.path} file={file} layout={layout} />
      ))}
    </div>
  );
}

/** One column or two, as the person chose; one where there is no room. */
export function useDiffLayout(): DiffLayout {
  const [chosen] = usePreference('diffLayout');
  return useIsNarrow() ? 'unified' : chosen;
}

function FileDiffBlock({ file, layout }: { readonly file: FileDiff; readonly layout: DiffLayout }) {
  const { preview: names } = useWords();
  const { path, diff, operation, unsaved, truncated } = file;
  const lines = useMemo(() => parseUnifiedDiff(diff), [diff]);
  return (
    <LinesDiff path={path} operation={operation} lines={lines} layout={layout}>
      {unsaved && <p className="caution">{names.unsaved}</p>}
      {truncated && <p className="caution">{names.cut}</p>}
    </LinesDiff>
  );
}

interface LinesDiffProps {
  readonly path: string;
  readonly operation: string;
  readonly lines: readonly DiffLine[];
  readonly layout?: DiffLayout;
  /** Notes about the file. */
  readonly children?: ReactNode;
}

/** The diff of one file, below its name and the numbers of changed lines. */
export function LinesDiff({ path, operation, lines, layout = 'unified', children }: LinesDiffProps) {
  return (
    <section className="file-diff" aria-label={path}>
      <header className="file-head">
        <FileHead path={path} operation={operation} lines={lines} />
      </header>
      {children}
      <DiffBody path={path} lines={lines} layout={layout} />
    </section>
  );
}

/** The name of a changed file, what happens to it, and the numbers of changed lines. */
export function FileHead({ path, operation, lines }: Pick<LinesDiffProps, 'path' | 'operation' | 'lines'>) {
  const { preview: names } = useWords();
  const { added, removed } = useMemo(() => countChanges(lines), [lines]);
  const operations: Readonly<Record<string, string>> = names.operation;
  return (
    <>
      <Visible as="code" text={path} />
      <span className="muted operation">{operations[operation] ?? operation}</span>
      {lines.length > 0 && (
        <span className="counts">
          <span className="count-added">+{added}</span> <span className="count-removed">−{removed}</span>
        </span>
      )}
    </>
  );
}

interface DiffBodyProps extends Pick<LinesDiffProps, 'path' | 'lines'> {
  readonly layout: DiffLayout;
}

export function DiffBody({ path, lines, layout }: DiffBodyProps) {
  const { preview } = useWords();
  if (lines.length === 0) return <p className="muted">{preview.sameContent}</p>;
  return <DiffLines lines={lines} path={path} layout={layout} />;
}
