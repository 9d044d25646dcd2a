import { parseUnifiedDiff } from '@countersign/approvals';
import { ApiError } from '@countersign/client';
import { type ChangedFile, findTool } from '@countersign/protocol';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { isDialogOpen, isTyping } from '../approvals/card-keys.ts';
import { DiffLines } from '../approvals/diff-view.tsx';
import { Button } from '../frame/button.tsx';
import { usePreference } from '../frame/preferences.ts';
import { type Conversation, isAtWork } from '../live/conversation.ts';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { keys } from '../queries/keys.ts';
import { useRunChanges } from '../queries/workspace.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

interface RunSummaryProps {
  readonly sessionId: string;
  readonly runId: string;
  /** The changes of the last run are read at once; those of earlier ones when they are opened. */
  readonly isLast: boolean;
}

/** What a run changed, at its end: each file with its diff over the whole run, and undo for one file or all. */
export function RunSummary({ sessionId, runId, isLast }: RunSummaryProps) {
  const { conversations } = useLive();
  const paths = useObservable(conversations.all, (all) => {
    const conversation = all.get(sessionId);
    return conversation && !isAtWork(conversation, runId) ? changedPaths(conversation, runId) : '';
  });
  if (paths === '') return null;
  return <Changes runId={runId} isLast={isLast} expected={paths.split('\n').length} />;
}

/** The paths that file tools of a run changed, one a line; empty if there are none. */
function changedPaths({ calls }: Conversation, runId: string): string {
  const known = pathsByRun.get(calls) ?? new Map<string, string>();
  pathsByRun.set(calls, known);
  const paths = known.get(runId) ?? readPaths(calls, runId);
  known.set(runId, paths);
  return paths;
}

/** A streamed answer changes the conversation often and its calls rarely: each state of the calls is read once. */
const pathsByRun = new WeakMap<Conversation['calls'], Map<string, string>>();

function readPaths(calls: Conversation['calls'], runId: string): string {
  const paths = new Set<string>();
  for (const { runId: of, status, toolName, params } of calls.values()) {
    const tool = of === runId && status === 'completed' ? findTool(toolName) : undefined;
    if (tool?.category !== 'filesystem' || tool.changes === 'nothing') continue;
    for (const path of [params.path, params.source, params.dest])
      if (typeof path === 'string') paths.add(path);
  }
  return [...paths].join('\n');
}

type Undo =
  | { readonly step: 'idle' }
  /** With null, all files. */
  | { readonly step: 'asking' | 'working'; readonly path: string | null }
  | {
      readonly step: 'refused';
      readonly path: string | null;
      readonly error: unknown;
      readonly canForce: boolean;
    };

interface ChangesProps {
  readonly runId: string;
  readonly isLast: boolean;
  /** Number of files as the calls name them, until the server's answer is there. */
  readonly expected: number;
}

function Changes({ runId, isLast, expected }: ChangesProps) {
  const { conversation, states, said } = useWords();
  const { changes: words } = conversation;
  const { client } = useLive();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [undo, setUndo] = useState<Undo>({ step: 'idle' });
  const read = useRunChanges(runId, isLast || isOpen);
  const files = read.data ?? [];
  const left = files.filter(({ undoable, undone }) => undoable && !undone);
  const isAllUndone = files.length > 0 && files.every(({ undone }) => undone);
  useUndoKey(isLast && left.length > 0, () => setUndo({ step: 'asking', path: null }));

  const put = async (path: string | null, force: boolean): Promise<void> => {
    setUndo({ step: 'working', path });
    try {
      const body = { force, ...(path !== null && { path }) };
      await client.undoRun({ params: { run_id: runId }, body }, { timeoutMs: 120_000 });
      setUndo({ step: 'idle' });
    } catch (error) {
      const canForce = error instanceof ApiError && error.code === 'UNDO_CONFLICT';
      setUndo({ step: 'refused', path, error, canForce });
    }
    await queries.invalidateQueries({ queryKey: keys.runChanges(runId) });
  };
  const undoOf = (path: string | null, name: string, yes: string) =>
    undo.step !== 'idle' && undo.path === path ? (
      <ConfirmUndo
        undo={undo}
        yes={yes}
        onYes={(force) => void put(path, force)}
        onNo={() => setUndo({ step: 'idle' })}
      />
    ) : (
      <Button
        look="quiet small"
        disabled={undo.step === 'working'}
        onClick={() => setUndo({ step: 'asking', path })}
      >
        {name}
      </Button>
    );
  // A run that left all files as they were has nothing to show.
  if (read.data?.length === 0) return null;
  return (
    <section className="run-summary" aria-label={words.title(files.length || expected)}>
      <div className="run-summary-head">
        <button
          type="button"
          className="run-summary-title"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {words.title(files.length || expected)}
          <LineCounts files={files} />
        </button>
        {isAllUndone ? (
          <span className="muted" role="status">
            {words.allUndone}
          </span>
        ) : (
          left.length > 0 && undoOf(null, words.undoAll, words.undoAllYes(left.length))
        )}
      </div>
      {undo.step === 'refused' && (
        <p className="notice" role="alert">
          <Visible text={said(undo.error instanceof Error ? undo.error : String(undo.error))} />
        </p>
      )}
      {isOpen && read.isPending && <p className="muted">{states.loading}</p>}
      {isOpen && read.isError && <p className="caution">{states.failed}</p>}
      {isOpen && (
        <ul className="run-files">
          {files.map((file) => (
            <FileChange key={file.path} file={file}>
              {file.undone ? (
                <span className="muted">{words.undone}</span>
              ) : (
                file.undoable && undoOf(file.path, words.undoOne, words.undoOneYes)
              )}
            </FileChange>
          ))}
        </ul>
      )}
    </section>
  );
}

interface ConfirmUndoProps {
  readonly undo: Exclude<Undo, { step: 'idle' }>;
  readonly yes: string;
  onYes(force: boolean): void;
  onNo(): void;
}

/** The second step of an undo. It takes the focus, so that Enter confirms. */
function ConfirmUndo({ undo, yes, onYes, onNo }: ConfirmUndoProps) {
  const { changes: words } = useWords().conversation;
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), []);
  if (undo.step === 'working') return <span role="status">{words.undoing}</span>;
  const isForced = undo.step === 'refused' && undo.canForce;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape is heard from the buttons inside
    <span
      className="confirm-undo"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        onNo();
      }}
    >
      <Button ref={button} look={isForced ? 'danger small' : 'primary small'} onClick={() => onYes(isForced)}>
        {isForced ? words.force : yes}
      </Button>
      <Button look="quiet small" onClick={onNo}>
        {words.cancel}
      </Button>
    </span>
  );
}

function FileChange({ file, children }: { readonly file: ChangedFile; readonly children: React.ReactNode }) {
  const { conversation, preview } = useWords();
  const { changes: words } = conversation;
  const [layout] = usePreference('diffLayout');
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="run-file">
      <div className="run-file-head">
        <button
          type="button"
          className="run-file-name"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <Visible as="code" text={file.path} />{' '}
          <span className="muted">{preview.operation[file.operation]}</span>
          <LineCounts files={[file]} />
        </button>
        {children}
      </div>
      {isOpen &&
        (file.diff === null ? (
          <p className="muted">{words.noDiff}</p>
        ) : file.diff === '' ? (
          <p className="muted">{preview.sameContent}</p>
        ) : (
          <DiffLines lines={parseUnifiedDiff(file.diff)} path={file.path} layout={layout} />
        ))}
      {isOpen && file.truncated && <p className="caution">{preview.cut}</p>}
    </li>
  );
}

/** Added and removed lines; nothing if the runner did not report them. */
function LineCounts({ files }: { readonly files: readonly ChangedFile[] }) {
  const told = files.filter(({ added, undone }) => added !== null && !undone);
  if (told.length === 0) return null;
  const sum = (of: 'added' | 'removed') => told.reduce((all, file) => all + (file[of] ?? 0), 0);
  return (
    <span className="counts">
      <span className="count-added">+{sum('added')}</span>{' '}
      <span className="count-removed">−{sum('removed')}</span>
    </span>
  );
}

/** Calls `act` for the key `u` outside text fields. */
function useUndoKey(isOn: boolean, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (!isOn) return;
    const pressed = (event: KeyboardEvent) => {
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey;
      if (event.code !== 'KeyU' || hasModifier || event.repeat) return;
      if (isTyping(event.target) || isDialogOpen()) return;
      event.preventDefault();
      latest.current();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, [isOn]);
}
