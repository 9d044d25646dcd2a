import {
  type Landing,
  landingNotes,
  type MatchedFile,
  resultText,
  type ResultView as View,
} from '@countersign/approvals';
import type { ReactNode } from 'react';
import { LinesDiff } from '../approvals/file-diffs.tsx';
import { byteSize } from '../text/duration.ts';
import { JsonView } from '../text/json-view.tsx';
import { moment } from '../text/time-text.ts';
import { Visible } from '../text/visible.tsx';
import { useLanguage, useWords } from '../words/words.ts';
import { CodeView } from './code-view.tsx';
import { ShortList } from './short-list.tsx';
import { TerminalView } from './terminal-view.tsx';

type Of<Kind extends View['kind']> = Extract<View, { kind: Kind }>;

interface ResultViewProps {
  readonly view: View;
  /** The text that a search was about; it is marked in the lines. */
  readonly sought?: string | undefined;
  readonly onWhole?: (() => void) | undefined;
}

/** Draws the result of a call by its kind. */
export function ResultView({ view, sought, onWhole }: ResultViewProps) {
  const { call, calls } = useWords();
  switch (view.kind) {
    case 'terminal':
      return (
        <>
          {view.output === '' ? (
            <p className="muted">{call.noOutput}</p>
          ) : (
            <TerminalView output={view.output} onWhole={onWhole} />
          )}
          {view.landing && (
            <>
              <Changed files={view.landing.files} />
              <LandingNotes landing={view.landing} />
            </>
          )}
        </>
      );
    case 'text':
      return <CodeView text={view.text} path={view.path} firstLine={view.firstLine} />;
    case 'picture':
      return <Picture view={view} />;
    case 'listing':
      return <Listing view={view} />;
    case 'matches':
      return <Matches files={view.files} sought={sought} />;
    case 'diff':
      return (
        <>
          {view.files.map((file) => (
            <LinesDiff key={file.path} {...file} />
          ))}
        </>
      );
    case 'status':
      return <Status view={view} />;
    case 'commits':
      return <Commits view={view} />;
    case 'branches':
      return (
        <ShortList
          rows={view.branches.map(({ name, commit, upstream }) => (
            <li key={name}>
              <Visible as={name === view.current ? 'strong' : 'span'} text={name} />{' '}
              <Visible as="code" className="muted" text={commit.slice(0, 8)} />
              {upstream !== null && <Visible as="span" className="muted" text={` ${upstream}`} />}
            </li>
          ))}
        />
      );
    case 'diagnostics':
      return <Diagnostics view={view} />;
    case 'symbols':
      return (
        <ShortList
          rows={view.symbols.map(({ name, kind, container, line, col }) => (
            <li key={`${line}:${col} ${name}`} className="with-number">
              <LineNumber line={line} />
              <span>
                <Visible as="code" text={name} /> <Visible as="span" className="muted" text={kind} />
                {container !== undefined && <Visible as="span" className="muted" text={` · ${container}`} />}
              </span>
            </li>
          ))}
        />
      );
    case 'locations':
      return <Matches files={linesByFile(view.locations)} sought={undefined} />;
    case 'changed':
      return <Changed files={view.files} />;
    case 'facts':
      return <JsonView value={resultText(view, calls)} />;
    case 'json':
      return <JsonView value={view.value} />;
  }
}

function Picture({ view: { mediaType, base64 } }: { readonly view: Of<'picture'> }) {
  const { call } = useWords();
  // Only these formats are drawn. Other data stays out of the image decoder.
  if (!/^image\/(png|jpeg|gif|webp|avif)$/.test(mediaType) || !/^[A-Za-z0-9+/=\s]*$/.test(base64))
    return <p className="muted">{call.noPicture}</p>;
  return <img className="result-picture" alt={call.picture} src={`data:${mediaType};base64,${base64}`} />;
}

function Listing({ view: { entries } }: { readonly view: Of<'listing'> }) {
  const words = useWords();
  return (
    <ShortList
      rows={entries.map(({ path, name, type, size }) => (
        <li key={path} className="with-detail">
          <Visible
            as="code"
            className={`entry-${type}`}
            text={type === 'directory' ? `${path || name}/` : path || name}
          />
          {type === 'file' && <span className="muted">{byteSize(size, words)}</span>}
        </li>
      ))}
    />
  );
}

/** Lines of files, each with its number. */
function Matches({
  files,
  sought,
}: {
  readonly files: readonly MatchedFile[];
  readonly sought: string | undefined;
}) {
  return (
    <ShortList
      rows={files.flatMap(({ path, matches }) => [
        <li key={path} className="match-file">
          <Visible as="code" text={path} />
        </li>,
        ...matches.map(({ line, text }) => (
          <li key={`${path}:${line}:${text}`} className="with-number">
            <LineNumber line={line} />
            <code className="match-text">
              <Marked text={text} sought={sought} />
            </code>
          </li>
        )),
      ])}
    />
  );
}

/** A line with the first occurrence of the sought text marked. Patterns are not run here, because one could take very long. */
function Marked({ text, sought }: { readonly text: string; readonly sought: string | undefined }) {
  const at = sought ? text.indexOf(sought) : -1;
  if (!sought || at < 0) return <Visible text={text} />;
  return (
    <>
      <Visible text={text.slice(0, at)} />
      <Visible as="strong" className="match" text={sought} />
      <Visible text={text.slice(at + sought.length)} />
    </>
  );
}

function linesByFile(locations: Of<'locations'>['locations']): readonly MatchedFile[] {
  const files = new Map<string, { line: number; text: string }[]>();
  for (const { path, line, text } of locations) files.set(path, [...(files.get(path) ?? []), { line, text }]);
  return [...files].map(([path, matches]) => ({ path, matches }));
}

function Status({ view: { status } }: { readonly view: Of<'status'> }) {
  const { call, preview } = useWords();
  const { branch, upstream, ahead, behind, files } = status;
  return (
    <>
      <p>
        <Visible as="strong" text={branch ?? call.detached} />{' '}
        {upstream !== null && (
          <span className="muted">
            <Visible text={upstream} /> {call.aheadBehind(ahead, behind)}
          </span>
        )}
      </p>
      <ShortList
        rows={files.map(({ path, old_path, staged, unstaged }) => (
          <li key={path} className="with-detail">
            <Visible as="code" text={old_path === undefined ? path : `${old_path} → ${path}`} />
            <span className="muted">
              {[staged && call.staged(preview.operation[staged]), unstaged && preview.operation[unstaged]]
                .filter(Boolean)
                .join(', ')}
            </span>
          </li>
        ))}
      />
    </>
  );
}

function Commits({ view: { commits } }: { readonly view: Of<'commits'> }) {
  const language = useLanguage();
  return (
    <ShortList
      rows={commits.map(({ id, subject, author, date }) => (
        <li key={id} className="with-detail">
          <span>
            <Visible as="code" className="muted" text={id.slice(0, 8)} /> <Visible text={subject} />
          </span>
          <span className="muted">
            <Visible text={author} /> · {moment(date, language)}
          </span>
        </li>
      ))}
    />
  );
}

function Diagnostics({ view: { diagnostics } }: { readonly view: Of<'diagnostics'> }) {
  const { call } = useWords();
  return (
    <ShortList
      rows={diagnostics.map(({ line, col, severity, message, source, code, text }) => (
        <li key={`${line}:${col} ${message}`} className="with-number">
          <LineNumber line={line} />
          <span>
            <span className={`severity-${severity}`}>{call.severity[severity]}</span>{' '}
            <Visible text={message} />{' '}
            <Visible as="span" className="muted" text={[source, code].filter(Boolean).join(' ')} />
            <code className="match-text">
              <Visible text={text} />
            </code>
          </span>
        </li>
      ))}
    />
  );
}

/** What of a command's changes did not land, and why. */
export function LandingNotes({ landing }: { readonly landing: Landing }) {
  const { calls, said } = useWords();
  return landingNotes(landing, calls, said).map((note) => (
    <Visible key={note} as="p" className="caution" text={note} />
  ));
}

function Changed({ files }: Pick<Of<'changed'>, 'files'>) {
  const { preview } = useWords();
  const operations: Readonly<Record<string, string>> = preview.operation;
  return (
    <ShortList
      rows={files.map(({ path, operation }) => (
        <li key={path} className="with-detail">
          <Visible as="code" text={path} />
          <span className="muted">{operations[operation] ?? operation}</span>
        </li>
      ))}
    />
  );
}

const LineNumber = ({ line }: { readonly line: number }): ReactNode => (
  <span className="line-number">{line}</span>
);
