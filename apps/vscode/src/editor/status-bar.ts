import { Disposable, MarkdownString, StatusBarAlignment, ThemeColor, window } from 'vscode';
import { said } from '../approvals/request-title.ts';
import type { FolderRunner, FolderState } from '../runner/folder-runner.ts';
import type { Words } from '../words/words.ts';

export interface StatusFacts {
  readonly server: string | undefined;
  readonly folders: readonly FolderRunner[];
  /** Including folders whose runner is being closed or opened. */
  readonly hasFolders: boolean;
  readonly pending: number;
}

/** Shows the state and the number of pending approvals; a click lists them, or signs in. */
export function statusBar(words: Words): Disposable & { update(facts: StatusFacts): void } {
  const item = window.createStatusBarItem('countersign', StatusBarAlignment.Left, 50);
  item.name = 'Countersign';
  const update = ({ server, folders, hasFolders, pending }: StatusFacts) => {
    const isOpen = folders.length > 0 && folders.every(({ state }) => state.status === 'open');
    const hasFailed = folders.some(({ state }) => state.status === 'failed');
    const icon =
      server === undefined
        ? 'circle-slash'
        : hasFailed
          ? 'error'
          : isOpen || !hasFolders
            ? 'shield'
            : 'sync~spin';
    item.text = pending > 0 ? `$(bell-dot) Countersign: ${pending}` : `$(${icon}) Countersign`;
    item.backgroundColor =
      pending > 0
        ? new ThemeColor('statusBarItem.warningBackground')
        : hasFailed
          ? new ThemeColor('statusBarItem.errorBackground')
          : undefined;
    const waiting = pending > 0 ? words.status.pending(pending) : words.status.nothingPending;
    const lines =
      server === undefined
        ? [words.status.signedOut]
        : [
            `${server} · ${waiting}`,
            ...folders.map((folder) => `${folder.folder}: ${stateText(folder.state, words)}`),
            ...(folders.length > 0 ? [] : [hasFolders ? words.status.connecting : words.status.noFolder]),
          ];
    const tooltip = new MarkdownString();
    for (const line of lines) tooltip.appendText(`${line}\n`);
    item.tooltip = tooltip;
    item.command = server === undefined ? 'countersign.signIn' : 'countersign.showPending';
    item.accessibilityInformation = { label: lines.join('. '), role: 'button' };
    item.show();
  };
  return Object.assign(new Disposable(() => item.dispose()), { update });
}

export function stateText(state: FolderState, words: Words): string {
  const { status } = words;
  switch (state.status) {
    case 'connecting':
      return status.connecting;
    case 'waiting':
      return status.waiting(said(state.problem, words), Math.ceil(state.retryInMs / 1000));
    case 'failed':
      return status.failed(said(state.problem, words));
    case 'open':
      if (state.runs === 'here') return status.running;
      return typeof state.runs === 'object' ? status.watching(state.runs.holder) : status[state.runs];
  }
}
