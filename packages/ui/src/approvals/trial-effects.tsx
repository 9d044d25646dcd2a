import {
  gitDataOf,
  parseUnifiedDiff,
  type TrialFile,
  type TrialOutcome,
  trialOutput,
  unlistedEffects,
  withoutDiff,
} from '@countersign/approvals';
import { type ReactNode, useMemo, useState } from 'react';
import { ShortList } from '../results/short-list.tsx';
import { TerminalView } from '../results/terminal-view.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { DiffBody, FileHead, useDiffLayout } from './file-diffs.tsx';

/** The files that a tried command changed, deletions first, each diff folded; then what it printed (RN-13). */
export function TrialEffects({ trial }: { readonly trial: TrialOutcome }) {
  const { preview } = useWords();
  const [files, gitData] = useMemo(() => gitDataOf(trial.files), [trial]);
  const output = trialOutput(trial);
  const { inDeletedFolders, others } = unlistedEffects(trial);
  return (
    <div className="trial-effects">
      {files.length > 0 && <ShortList rows={files.map((file) => <Effect key={file.path} file={file} />)} />}
      {gitData.length > 0 && (
        <Folded head={preview.trial.gitData(gitData.length)}>
          <ShortList
            rows={gitData.map(({ path, change }) => (
              <li key={path} className="with-detail">
                <Visible as="code" text={path} />
                <span className="muted">{preview.operation[change]}</span>
              </li>
            ))}
          />
        </Folded>
      )}
      {inDeletedFolders > 0 && <p className="caution">{preview.trial.inDeletedFolders(inDeletedFolders)}</p>}
      {others > 0 && <p className="caution">{preview.trial.more(others)}</p>}
      {output !== '' && (
        <>
          <p className="label">{preview.output}</p>
          <TerminalView output={output} />
        </>
      )}
    </div>
  );
}

function Effect({ file }: { readonly file: TrialFile }) {
  const { preview } = useWords();
  const { path, change, diff, truncated } = file;
  const lines = useMemo(() => parseUnifiedDiff(diff ?? ''), [diff]);
  const layout = useDiffLayout();
  const head = <FileHead path={path} operation={change} lines={lines} />;
  if (diff === undefined || lines.length === 0)
    return (
      <li className={`file-diff effect-${change}`}>
        <div className="file-head">
          {head}
          <span className="muted">{withoutDiff(file, preview.trial)}</span>
        </div>
      </li>
    );
  return (
    <li>
      <Folded head={head} className={`effect-${change}`}>
        {truncated && <p className="caution">{preview.cut}</p>}
        <DiffBody path={path} lines={lines} layout={layout} />
      </Folded>
    </li>
  );
}

interface FoldedProps {
  readonly head: ReactNode;
  readonly className?: string;
  readonly children: ReactNode;
}

/** What is folded is not drawn: a command may have changed a thousand files. */
function Folded({ head, className = '', children }: FoldedProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      className={`file-diff ${className}`}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary className="file-head">{head}</summary>
      {isOpen && children}
    </details>
  );
}
