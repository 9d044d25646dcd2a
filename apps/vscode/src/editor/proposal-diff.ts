import { findTool } from '@countersign/protocol';
import type { ApprovalRequest, ProposedText } from '@countersign/tool-runner';
import {
  commands,
  Disposable,
  EventEmitter,
  type FileChangeEvent,
  FileChangeType,
  FilePermission,
  type FileStat,
  FileSystemError,
  type FileSystemProvider,
  FileType,
  type Tab,
  TabInputTextDiff,
  type TextDocumentContentProvider,
  Uri,
  window,
  workspace,
} from 'vscode';
import type { PendingEntry } from '../approvals/pending-approvals.ts';
import type { FolderRunner } from '../runner/folder-runner.ts';
import type { Words } from '../words.ts';
import { nameAmongFolders } from './folder-name.ts';

/** URI schemes of the two sides of a diff: the editable proposal and the current file. Neither is on disk. */
const proposalScheme = 'countersign-proposal';
const baseScheme = 'countersign-base';

interface Proposal {
  readonly entry: PendingEntry<FolderRunner>;
  readonly text: ProposedText;
  readonly uri: Uri;
  bytes: Uint8Array;
  modified: number;
  /** When the diff got the focus, by the monotonic clock; undefined without the focus. */
  seenSince: number | undefined;
  /** Set while the diff is being closed. */
  closed?: Promise<void>;
}

/** Whether the person may edit the proposed text. False for a copy, which has no text parameter. */
const isEditable = ({ tool_name }: ApprovalRequest): boolean => findTool(tool_name)?.holdsText !== undefined;

/** What the person approves in a diff: the displayed request, and their text if they edited it. */
export interface ReviewedProposal {
  readonly request: ApprovalRequest;
  readonly before: string | null;
  readonly edited: string | undefined;
  readonly seenMs: number;
}

/**
 * Shows file changes in the editor's own diff: the file as the runner found it on the left, the proposal on the right,
 * where it can be edited before it is approved (AP-6). The diff closes when its request is settled.
 */
export class ProposalDiffs implements Disposable {
  readonly #words: Words;
  readonly #proposals = new Map<string, Proposal>();
  readonly #baseChanged = new EventEmitter<Uri>();
  readonly #proposalChanged = new EventEmitter<FileChangeEvent[]>();
  readonly #registered: Disposable;

  constructor(words: Words) {
    this.#words = words;
    this.#registered = Disposable.from(
      workspace.registerFileSystemProvider(proposalScheme, this.#files(), { isCaseSensitive: true }),
      workspace.registerTextDocumentContentProvider(baseScheme, this.#bases()),
      window.onDidChangeActiveTextEditor(() => this.#updateFocus()),
      window.onDidChangeWindowState(() => this.#updateFocus()),
    );
    void this.#closeRestoredTabs();
  }

  dispose(): void {
    this.#registered.dispose();
  }

  /** The id of the approval whose diff has the focus. */
  get shown(): string | undefined {
    const uri = window.activeTextEditor?.document.uri;
    return uri?.scheme === proposalScheme ? approvalOf(uri) : undefined;
  }

  /**
   * Shows the diff. Returns false if there is none: the call changes no text, or another runner would execute it.
   * `preserveFocus` leaves the focus where it is, for example in the chat.
   */
  async open(entry: PendingEntry<FolderRunner>, { preserveFocus = false } = {}): Promise<boolean> {
    const { request, folder } = entry;
    if (request.preview?.kind !== 'diff') return false;
    const text = await folder.proposedText(request).catch(() => undefined);
    if (!text) return false;
    const uri = this.#keep(entry, text);
    // Without this, the editor would use the person's default encoding.
    await workspace.openTextDocument(uri, { encoding: 'utf8' });
    const { approval } = this.#words;
    const path = [nameAmongFolders(folder.folder), text.path].filter(Boolean).join('/');
    const title = isEditable(request) ? approval.proposed(path) : approval.copied(path);
    await commands.executeCommand('vscode.diff', uri.with({ scheme: baseScheme }), uri, title, {
      preview: false,
      preserveFocus,
    });
    this.#updateFocus();
    return true;
  }

  /** Updates an open diff after its request changed. The person's edits are kept. */
  async refresh(entry: PendingEntry<FolderRunner>): Promise<void> {
    const known = this.#proposals.get(entry.request.approval_id);
    if (known && known.entry.request.digest !== entry.request.digest) await this.#renew(known, entry);
  }

  /** Updates an open diff after its file changed. An approval of the old version is refused (AP-8). */
  async fileChanged({
    project_id,
    path,
  }: {
    readonly project_id: string;
    readonly path: string;
  }): Promise<void> {
    for (const proposal of [...this.#proposals.values()]) {
      const { entry, text } = proposal;
      if (entry.request.project_id === project_id && text.path === path) await this.#renew(proposal, entry);
    }
  }

  async #renew(known: Proposal, entry: PendingEntry<FolderRunner>): Promise<void> {
    const text = await entry.folder.proposedText(entry.request).catch(() => undefined);
    if (!text) return this.close(entry.request.approval_id);
    // Keep the person's edits. Unsaved text must not change even if it equals the new proposal.
    const isKept = this.#editedText(known) !== undefined || documentOf(known.uri)?.isDirty === true;
    const proposal = this.#proposals.get(entry.request.approval_id);
    if (proposal !== known || known.closed) return;
    const seenSince = known.seenSince === undefined ? undefined : performance.now();
    const renewed = isKept ? {} : { bytes: encode(text.after), modified: Date.now() };
    this.#proposals.set(entry.request.approval_id, { ...known, entry, text, seenSince, ...renewed });
    this.#baseChanged.fire(known.uri.with({ scheme: baseScheme }));
    if (!isKept) this.#proposalChanged.fire([{ type: FileChangeType.Changed, uri: known.uri }]);
  }

  reviewed(approvalId: string): ReviewedProposal | undefined {
    const proposal = this.#proposals.get(approvalId);
    if (!proposal) return undefined;
    const { entry, text, seenSince } = proposal;
    return {
      request: entry.request,
      before: text.before,
      edited: this.#editedText(proposal),
      seenMs: seenSince === undefined ? 0 : performance.now() - seenSince,
    };
  }

  /** Restarts the reading time, so that a key that is held down never approves (UI-6). */
  restartReading(approvalId: string): void {
    const proposal = this.#proposals.get(approvalId);
    if (proposal?.seenSince !== undefined) proposal.seenSince = performance.now();
  }

  /** Whether the diff is open in a tab, visible or not. */
  isOpen(approvalId: string): boolean {
    const proposal = this.#proposals.get(approvalId);
    if (!proposal || proposal.closed) return false;
    return tabsOf((uri) => String(uri) === String(proposal.uri)).length > 0;
  }

  /** Whether the person has edited the text in an open diff. */
  isBeingEdited(approvalId: string): boolean {
    const proposal = this.#proposals.get(approvalId);
    return proposal !== undefined && this.#editedText(proposal) !== undefined && this.isOpen(approvalId);
  }

  /** Closes the diff of a settled request. */
  close(approvalId: string): Promise<void> {
    const proposal = this.#proposals.get(approvalId);
    if (!proposal) return Promise.resolve();
    // Save once: a second save would cancel the first, and the editor would ask whether to save.
    proposal.closed ??= this.#close(approvalId, proposal.uri);
    return proposal.closed;
  }

  async #close(approvalId: string, uri: Uri): Promise<void> {
    const document = documentOf(uri);
    if (document?.isDirty) await document.save(); // saves in memory, so that the editor does not ask
    await closeTabs((modified) => String(modified) === String(uri));
    this.#proposals.delete(approvalId);
  }

  #keep(entry: PendingEntry<FolderRunner>, text: ProposedText): Uri {
    const { approval_id, digest } = entry.request;
    const known = this.#proposals.get(approval_id);
    if (known && known.entry.request.digest === digest) return known.uri;
    const uri =
      known?.uri ?? Uri.from({ scheme: proposalScheme, authority: approval_id, path: `/${text.path}` });
    this.#proposals.set(approval_id, {
      entry,
      text,
      uri,
      bytes: encode(text.after),
      modified: Date.now(),
      seenSince: undefined,
    });
    return uri;
  }

  #editedText({ uri, text, bytes }: Proposal): string | undefined {
    const now = documentOf(uri)?.getText() ?? new TextDecoder().decode(bytes);
    return withLineFeeds(now) === withLineFeeds(text.after) ? undefined : now;
  }

  #updateFocus(): void {
    const shown = window.state.focused ? this.shown : undefined;
    for (const [id, proposal] of this.#proposals) {
      if (id !== shown) proposal.seenSince = undefined;
      else proposal.seenSince ??= performance.now();
    }
    void commands.executeCommand('setContext', 'countersign.reviewing', this.shown !== undefined);
  }

  /** Closes tabs that the editor restored after a reload, because their content is lost. */
  async #closeRestoredTabs(): Promise<void> {
    await closeTabs((uri) => uri.scheme === proposalScheme && !this.#proposals.has(approvalOf(uri)));
  }

  #find(uri: Uri): Proposal {
    const proposal = this.#proposals.get(approvalOf(uri));
    if (!proposal) throw FileSystemError.FileNotFound(uri);
    return proposal;
  }

  #bases(): TextDocumentContentProvider {
    return {
      onDidChange: this.#baseChanged.event,
      provideTextDocumentContent: (uri) => this.#proposals.get(approvalOf(uri))?.text.before ?? '',
    };
  }

  #files(): FileSystemProvider {
    const refuse = (): never => {
      throw FileSystemError.NoPermissions();
    };
    return {
      onDidChangeFile: this.#proposalChanged.event,
      watch: () => new Disposable(() => {}),
      stat: (uri): FileStat => {
        const { bytes, modified, entry } = this.#find(uri);
        const stat = { type: FileType.File, ctime: 0, mtime: modified, size: bytes.length };
        return isEditable(entry.request) ? stat : { ...stat, permissions: FilePermission.Readonly };
      },
      readFile: (uri) => this.#find(uri).bytes,
      writeFile: (uri, bytes) => {
        const proposal = this.#find(uri);
        proposal.bytes = bytes;
        proposal.modified = Date.now();
      },
      readDirectory: () => [],
      createDirectory: refuse,
      delete: refuse,
      rename: refuse,
    };
  }
}

/** The approval's id is the URI's authority, not part of the path, because the editor shows the path above the diff. */
const approvalOf = ({ authority }: Uri): string => authority;

const documentOf = (uri: Uri) =>
  workspace.textDocuments.find((document) => String(document.uri) === String(uri));

const tabsOf = (matches: (uri: Uri) => boolean): Tab[] =>
  window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter(({ input }) => input instanceof TabInputTextDiff && matches(input.modified));

/** Closes tabs. Retries, because the editor does not find a tab that changed a moment ago, for example by saving. */
async function closeTabs(matches: (uri: Uri) => boolean): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const tabs = tabsOf(matches);
    if (tabs.length === 0) return;
    const isClosed = await window.tabGroups.close(tabs, true).then(
      (closed) => closed,
      () => false,
    );
    if (isClosed) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Doubles a byte order mark, because the editor removes the first one. */
const encode = (text: string): Uint8Array =>
  new TextEncoder().encode(text.startsWith('\ufeff') ? `\ufeff${text}` : text);
const withLineFeeds = (text: string): string => text.replaceAll(/\r\n?/g, '\n');
