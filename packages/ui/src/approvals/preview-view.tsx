import type { Preview } from '@countersign/protocol';
import type { ReactNode } from 'react';
import { CodeBlock } from '../text/code-block.tsx';
import { byteSize } from '../text/duration.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { FileDiffs } from './file-diffs.tsx';

/** What will happen, drawn from the runner's preview (AP-7). */
export function PreviewView({ preview }: { readonly preview: Preview }) {
  const words = useWords();
  const { preview: names } = words;
  switch (preview.kind) {
    case 'diff':
      return <FileDiffs files={preview.files} />;
    case 'delete':
      return (
        <div className="preview">
          <p className="preview-lead danger">
            {names.deletes}: <Visible as="code" text={preview.path} /> ({byteSize(preview.size, words)})
          </p>
          {preview.head === '' ? (
            <p className="muted">{names.emptyFile}</p>
          ) : (
            <Labelled label={names.deletesHead}>
              <CodeBlock>
                <Visible text={preview.head} />
              </CodeBlock>
            </Labelled>
          )}
        </div>
      );
    case 'directory':
      return (
        <p className="preview-lead">
          {names.directory}: <Visible as="code" text={preview.path} />
        </p>
      );
    case 'command':
      return <CommandPreview preview={preview} />;
    case 'commit':
      return (
        <div className="preview">
          <Labelled label={names.commit}>
            <CodeBlock>
              <Visible text={preview.message} />
            </CodeBlock>
          </Labelled>
          <Hooks hooks={preview.hooks} />
          <FileDiffs files={preview.files} />
        </div>
      );
    case 'push':
      return <PushPreview preview={preview} />;
    case 'custom':
      return <CustomPreview preview={preview} />;
    case 'summary':
      return <Visible as="p" className="preview-lead" text={preview.summary} />;
    case 'unavailable':
      return (
        <p className="preview-lead">
          {names.unavailable} <Visible text={words.said(preview.reason)} />
        </p>
      );
  }
}

function CommandPreview({ preview }: { readonly preview: Extract<Preview, { kind: 'command' }> }) {
  const { preview: names } = useWords();
  return (
    <div className="preview">
      <ol className="commands">
        {preview.commands.map((words, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: commands run in this order and may repeat
          <li key={index} className="command">
            {words.map((word, place) => (
              <span
                // biome-ignore lint/suspicious/noArrayIndexKey: words of a command may repeat
                key={place}
                className={word === null ? 'word unknown' : place === 0 ? 'word program' : 'word'}
              >
                {word === null ? names.commandUnknown : <Visible text={word} />}
              </span>
            ))}
          </li>
        ))}
      </ol>
      <dl className="facts">
        <dt>{names.cwd}</dt>
        <dd>
          <Visible as="code" text={preview.cwd} />
        </dd>
        <dt>{names.network}</dt>
        <dd className={preview.network ? 'caution' : undefined}>
          {preview.network ? names.networkYes : names.networkNo}
        </dd>
        <dt>{names.undo}</dt>
        <dd className={preview.reversible ? undefined : 'caution'}>
          {preview.reversible ? names.undoYes : names.undoNo}
        </dd>
        {preview.scripts.length > 0 && (
          <>
            <dt>{names.scripts}</dt>
            <dd>
              <Words words={preview.scripts} />
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}

function CustomPreview({ preview }: { readonly preview: Extract<Preview, { kind: 'custom' }> }) {
  const { preview: names } = useWords();
  const { server, tool, summary, runs, network, hints = [] } = preview;
  return (
    <div className="preview">
      <p className="preview-lead">
        {names.custom} <Visible as="code" text={tool === undefined ? server : `${server} · ${tool}`} />:{' '}
        <Visible text={summary} />
      </p>
      {runs !== undefined && (
        <>
          <dl className="facts">
            <dt>{names.customRuns}</dt>
            <dd>
              <Visible as="code" text={runs} />
            </dd>
            <dt>{names.network}</dt>
            <dd className={network ? 'caution' : undefined}>
              {network ? names.networkYes : names.networkNo}
            </dd>
            {hints.length > 0 && (
              <>
                <dt>{names.customSays}</dt>
                <dd className={hints.includes('destructive') ? 'caution' : undefined}>
                  {hints
                    .map((hint) => (hint === 'destructive' ? names.customDestructive : names.customReadOnly))
                    .join(', ')}
                </dd>
              </>
            )}
          </dl>
          <p className="muted">{names.customTouches}</p>
        </>
      )}
    </div>
  );
}

function PushPreview({ preview }: { readonly preview: Extract<Preview, { kind: 'push' }> }) {
  const { preview: names } = useWords();
  return (
    <div className="preview">
      <dl className="facts">
        <dt>{names.push}</dt>
        <dd>
          <Visible as="code" text={preview.remote} />{' '}
          <Visible as="span" className="muted" text={preview.url} />
        </dd>
        <dt>{names.branch}</dt>
        <dd>
          <Visible as="code" text={preview.branch} />
        </dd>
      </dl>
      {preview.commits.length === 0 ? (
        <p className="muted">{names.noCommits}</p>
      ) : (
        <Labelled label={names.commits(preview.commits.length)}>
          <ul className="commits">
            {preview.commits.map(({ id, subject, author }) => (
              <li key={id}>
                <Visible as="code" text={id.slice(0, 10)} /> <Visible text={subject} />{' '}
                <span className="muted">
                  {names.by} <Visible text={author} />
                </span>
              </li>
            ))}
          </ul>
        </Labelled>
      )}
      <Hooks hooks={preview.hooks} />
    </div>
  );
}

function Hooks({ hooks }: { readonly hooks: readonly string[] }) {
  const { preview: names } = useWords();
  if (hooks.length === 0) return <p className="muted">{names.noHooks}</p>;
  return (
    <Labelled label={names.hooks}>
      <Words words={hooks} />
    </Labelled>
  );
}

function Words({ words }: { readonly words: readonly string[] }) {
  return (
    <ul className="word-list">
      {words.map((word) => (
        <li key={word}>
          <Visible as="code" text={word} />
        </li>
      ))}
    </ul>
  );
}

function Labelled({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div className="labelled">
      <p className="label">{label}</p>
      {children}
    </div>
  );
}
