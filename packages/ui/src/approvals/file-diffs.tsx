import { parseUnifiedDiff } from '@countersign/approvals';
import type { Preview } from '@countersign/protocol';
import { useMemo } from 'react';
import { usePreference } from '../frame/preferences.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { type DiffLayout, DiffView } from './diff-view.tsx';
import { countChanges } from './unified-diff.ts';

type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];

/** The files that would change, each with its diff, and a switch between one column and two. */
export function FileDiffs({ files }: { readonly files: readonly FileDiff[] }) {
  const { preview: names } = useWords();
  const [layout, setLayout] = usePreference('diffLayout');
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

function FileDiffBlock({ file, layout }: { readonly file: FileDiff; readonly layout: DiffLayout }) {
  const { preview: names } = useWords();
  const { added, removed } = useMemo(() => countChanges(parseUnifiedDiff(file.diff)), [file.diff]);
  return (
    <section className="file-diff" aria-label={file.path}>
      <header className="file-head">
        <Visible as="code" text={file.path} />
        <span className="muted">{names[file.operation]}</span>
        <span className="counts">
          <span className="count-added">+{added}</span> <span className="count-removed">−{removed}</span>
        </span>
      </header>
      {file.unsaved && <p className="caution">{names.unsaved}</p>}
      {file.diff === '' ? (
        <p className="muted">{names.same}</p>
      ) : (
        <DiffView diff={file.diff} layout={layout} />
      )}
      {file.truncated && <p className="caution">{names.truncated}</p>}
    </section>
  );
}
