import type { Client } from '@countersign/client';
import type { CountersignEvent, Execution, ToolErrorValue } from '@countersign/protocol';
import {
  commands,
  type Disposable,
  EventEmitter,
  ThemeColor,
  ThemeIcon,
  type TreeDataProvider,
  TreeItem,
  type TreeView,
  window,
} from 'vscode';
import { said, told } from '../approvals/request-title.ts';
import { callLabel, isRunning, isUndoable } from '../history/call-label.ts';
import type { Words } from '../words.ts';
import { deliberateAnswer } from './deliberate-answer.ts';
import { nameAmongFolders } from './folder-name.ts';

export interface HistoryViewOptions {
  readonly client: () => Client | undefined;
  /** The projects of this window, each with its folder. */
  readonly projects: () => readonly { readonly project_id: string; readonly workspace: string | null }[];
  readonly words: Words;
}

type Row = Execution | 'more';

const pageSize = 50;
/** Events come in bursts: the history is read at most this often. */
const refreshIntervalMs = 400;

const icons: Readonly<Record<Execution['status'], readonly [icon: string, colour?: string]>> = {
  pending: ['circle-outline'],
  awaiting_approval: ['bell-dot', 'charts.yellow'],
  approved: ['circle-outline'],
  executing: ['sync~spin'],
  completed: ['check', 'charts.green'],
  failed: ['error', 'charts.red'],
  rejected: ['circle-slash', 'charts.red'],
  timeout: ['watch'],
  cancelled: ['debug-stop'],
};
/** An undone call has this icon, whatever its status. */
const undoneIcon = ['discard'] as const;
/** For a command whose exit code is not 0. */
const nonzeroIcon = ['warning', 'charts.yellow'] as const;

/** The calls of this window's projects, newest first. Calls can be undone and cancelled. */
export class HistoryView implements Disposable {
  readonly #options: HistoryViewOptions;
  readonly #changed = new EventEmitter<void>();
  readonly #view: TreeView<Row>;
  readonly #undoing = new Map<string, { readonly row: Execution; readonly force: boolean }>();
  /** How many undo requests await their response. */
  #asking = 0;
  /** Reports of the runner that came before the response to the undo request. */
  readonly #early = new Map<string, { readonly error: ToolErrorValue | null }>();
  /** The rows of the tree; undefined until the history was first read. */
  #rows: readonly Row[] | undefined;
  #reads = 0;
  #shown = pageSize;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HistoryViewOptions) {
    this.#options = options;
    const provider: TreeDataProvider<Row> = {
      onDidChangeTreeData: this.#changed.event,
      getChildren: async (parent) => (parent ? [] : [...(this.#rows ?? (await this.#readRows()) ?? [])]),
      getTreeItem: (row) => this.#itemOf(row),
    };
    this.#view = window.createTreeView('countersign.history', { treeDataProvider: provider });
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#view.dispose();
    this.#changed.dispose();
  }

  /** Redraws only if something changed: during a redraw, the buttons of a row do not know their row. */
  refresh(): void {
    this.#reads += 1;
    const read = this.#reads;
    void this.#readRows().then((rows) => {
      if (!rows || read !== this.#reads || JSON.stringify(rows) === JSON.stringify(this.#rows)) return;
      this.#rows = rows;
      // Without calls, the view takes no room.
      void commands.executeCommand('setContext', 'countersign.hasHistory', rows.length > 0);
      this.#changed.fire();
    });
  }

  async showMore(): Promise<void> {
    this.#shown += pageSize;
    this.refresh();
  }

  receive({ event, data }: CountersignEvent): void {
    if (event === 'tool.result' && data.undo_id !== undefined) this.#undone(data.undo_id, data.error);
    if (event !== 'tool.call' && event !== 'tool.result' && event !== 'approval.resolved') return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.refresh();
    }, refreshIntervalMs);
  }

  async undo(row?: Execution): Promise<void> {
    const { words } = this.#options;
    const chosen = row ?? (await this.#pick(isUndoable, words.history.undoPick, words.history.nothingToUndo));
    if (chosen) await this.#askToUndo(chosen, false);
  }

  async cancel(row?: Execution): Promise<void> {
    const { client, words } = this.#options;
    const chosen = row ?? (await this.#pick(isRunning, words.history.cancelPick, words.history.nothingRuns));
    if (!chosen) return;
    try {
      await client()?.cancelExecution({ params: { tool_id: chosen.tool_id }, body: {} });
    } catch (error) {
      void window.showErrorMessage(words.history.cancelFailed(said(error as Error, words)));
    }
  }

  async #askToUndo(row: Execution, force: boolean): Promise<void> {
    const { client, words } = this.#options;
    this.#asking += 1;
    try {
      const asked = await client()?.undoExecution({ params: { tool_id: row.tool_id }, body: { force } });
      if (!asked) return;
      this.#undoing.set(asked.undo_id, { row, force });
      window.setStatusBarMessage(words.history.undoAsked(labelOf(row)), 3_000);
      const early = this.#early.get(asked.undo_id);
      if (early) void this.#undone(asked.undo_id, early.error);
    } catch (error) {
      void window.showErrorMessage(words.history.undoFailed(said(error as Error, words)));
    } finally {
      this.#asking -= 1;
      if (this.#asking === 0) this.#early.clear();
    }
  }

  /** Handles the runner's report on an undo that was requested here. */
  async #undone(undoId: string, error: ToolErrorValue | null): Promise<void> {
    const { history } = this.#options.words;
    const asked = this.#undoing.get(undoId);
    if (!asked) {
      if (this.#asking > 0) this.#early.set(undoId, { error });
      return;
    }
    this.#undoing.delete(undoId);
    const { row, force } = asked;
    if (!error) {
      window.setStatusBarMessage(history.undoDone(labelOf(row)), 5_000);
      return;
    }
    if (error.code !== 'UNDO_CONFLICT' || force) {
      void window.showErrorMessage(history.undoFailed(said(error, this.#options.words)));
      return;
    }
    // The first choice, which Enter presses, keeps the person's later changes.
    const choice = await deliberateAnswer(
      labelOf(row),
      history.conflict,
      history.keepChanges,
      history.undoForce,
    );
    if (choice === history.undoForce) await this.#askToUndo(row, true);
  }

  async #pick(
    isChoice: (row: Execution) => boolean,
    title: string,
    none: string,
  ): Promise<Execution | undefined> {
    const { words } = this.#options;
    const rows = ((await this.#read()) ?? []).filter(isChoice);
    if (rows.length === 0) void window.showInformationMessage(none);
    if (rows.length < 2) return rows[0];
    const items = rows.map((row) => ({
      label: labelOf(row),
      description: [this.#folderOf(row), words.history.status[row.status]].filter(Boolean).join(' · '),
      row,
    }));
    return (await window.showQuickPick(items, { title }))?.row;
  }

  /** Returns undefined if the server does not respond. */
  async #readRows(): Promise<readonly Row[] | undefined> {
    const rows = await this.#read();
    if (!rows) return undefined;
    return rows.length > this.#shown ? [...rows.slice(0, this.#shown), 'more'] : rows;
  }

  async #read(): Promise<Execution[] | undefined> {
    const { client, projects } = this.#options;
    const limit = Math.min(200, this.#shown + 1);
    const responses = await Promise.all(
      projects().map(({ project_id }) =>
        client()
          ?.history({ query: { project_id, limit } }, { retry: { times: 1 } })
          .catch(() => undefined),
      ),
    );
    if (responses.includes(undefined)) return undefined;
    const rows = responses.flatMap((response) => response?.executions ?? []);
    return rows.sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  }

  /** The folder of a call, if the window has several. */
  #folderOf({ project_id }: Execution): string | undefined {
    const project = this.#options.projects().find((one) => one.project_id === project_id);
    return nameAmongFolders(project?.workspace ?? undefined);
  }

  #itemOf(row: Row): TreeItem {
    const { history, output } = this.#options.words;
    if (row === 'more') {
      const item = new TreeItem(history.more);
      item.command = { command: 'countersign.refreshHistory', title: history.more, arguments: ['more'] };
      return item;
    }
    const item = new TreeItem(labelOf(row));
    item.id = row.tool_id;
    const at = new Date(row.created_at);
    const isToday = at.toDateString() === new Date().toDateString();
    const time = at.toLocaleString([], {
      ...(!isToday && { month: 'short', day: 'numeric' }),
      hour: '2-digit',
      minute: '2-digit',
    });
    const { exit_code = 0 } = row;
    const isNonzero = row.status === 'completed' && exit_code !== 0;
    const ended = isNonzero ? output.ended(exit_code) : history.status[row.status];
    const state = row.undone_at === null ? ended : history.undone;
    item.description = [this.#folderOf(row), state, time].filter(Boolean).join(' · ');
    const [icon, colour] = row.undone_at !== null ? undoneIcon : isNonzero ? nonzeroIcon : icons[row.status];
    item.iconPath = new ThemeIcon(icon, colour === undefined ? undefined : new ThemeColor(colour));
    const problem = row.error && told(row.error, this.#options.words);
    item.tooltip = [labelOf(row), state, problem].filter(Boolean).join('\n');
    item.contextValue =
      [isUndoable(row) && 'undoable', isRunning(row) && 'running'].filter(Boolean).join(' ') || 'call';
    item.command = { command: 'countersign.showCall', title: '', arguments: [row] };
    return item;
  }
}

const labelOf = ({ tool_name, tool_params }: Execution): string => callLabel(tool_name, tool_params);
