import {
  Disposable,
  EventEmitter,
  ThemeColor,
  ThemeIcon,
  type TreeDataProvider,
  TreeItem,
  window,
} from 'vscode';
import type { PendingApprovals, PendingEntry } from '../approvals/pending-approvals.ts';
import { requestText } from '../approvals/preview-text.ts';
import { requestTitle } from '../approvals/request-title.ts';
import type { FolderRunner } from '../runner/folder-runner.ts';
import type { Words } from '../words.ts';
import { nameAmongFolders } from './folder-name.ts';

type Entry = PendingEntry<FolderRunner>;

const icons = { LOW: 'circle-outline', MEDIUM: 'warning', HIGH: 'flame' } as const;
const colours = { LOW: 'charts.green', MEDIUM: 'charts.yellow', HIGH: 'charts.red' } as const;
const refreshMs = 5_000;

/** Lists the pending approvals, with their number on the view's icon. */
export function showPendingTree(pending: PendingApprovals<FolderRunner>, words: Words): Disposable {
  const changed = new EventEmitter<void>();
  const provider: TreeDataProvider<Entry> = {
    onDidChangeTreeData: changed.event,
    getChildren: (parent) => (parent ? [] : [...pending.all]),
    getTreeItem: (entry) => itemOf(entry, pending, words),
  };
  const view = window.createTreeView('countersign.pending', { treeDataProvider: provider });
  const update = () => {
    changed.fire();
    const value = pending.all.length;
    view.badge = value === 0 ? undefined : { value, tooltip: words.status.pending(value) };
  };
  pending.listen({ onChange: update });
  // Redraw regularly to update the remaining time.
  const timer = setInterval(() => {
    if (pending.all.length > 0 && view.visible) changed.fire();
  }, refreshMs);
  return Disposable.from(view, changed, new Disposable(() => clearInterval(timer)));
}

function itemOf(entry: Entry, pending: PendingApprovals<FolderRunner>, words: Words): TreeItem {
  const { request } = entry;
  const { approval_id, risk_level } = request;
  const description = requestTitle(request, words);
  const item = new TreeItem(description);
  item.id = approval_id;
  const left = words.approval.remaining(pending.remainingSeconds(entry));
  const where = nameAmongFolders(entry.folder.folder);
  item.description = [where, words.approval.risk[risk_level], left].filter(Boolean).join(' · ');
  item.tooltip = requestText(request, words);
  item.iconPath = new ThemeIcon(icons[risk_level], new ThemeColor(colours[risk_level]));
  item.contextValue = `pending ${risk_level.toLowerCase()}`;
  item.command = { command: 'countersign.review', title: words.approval.review, arguments: [approval_id] };
  item.accessibilityInformation = { label: `${description}, ${item.description}` };
  return item;
}
