import type { PolicyDecision } from '@countersign/policy';
import type {
  BuiltInToolName,
  Preview,
  ToolCategoryOf,
  ToolParams,
  ToolSuccess,
} from '@countersign/protocol';
import type { BackgroundJobs } from './commands/background-jobs.ts';
import type { CallContext } from './executor.ts';
import type { FileChange } from './files/file-snapshot.ts';
import type { ResultCache } from './files/result-cache.ts';
import type { GitRepository } from './git/git-repository.ts';
import type { IsolatingStarter } from './isolation/process-starter.ts';
import type { LspExecutor } from './lsp/lsp-executor.ts';
import type { CallNetwork } from './network/call-network.ts';
import type { HeldHosts } from './network/held-hosts.ts';
import type { TriedCall } from './trial/trials.ts';
import type { Workspace } from './workspace.ts';

/**
 * One built-in tool on this machine. The protocol's catalogue describes the tool; the module previews and executes it.
 * Parameters are parsed and the policy has decided before a module is called. The policy checked names, so a module must
 * check again what it opens (VA-1, VA-2), with `inFile` (files/workspace-file.ts), `inDirectory`
 * (files/workspace-directory.ts), a plan of changes (`changingFiles`), `operandForGit` or `WorkspaceTexts`.
 * refused-reads.test.ts tests this for every tool that reads.
 */
export interface ToolModule<N extends BuiltInToolName> {
  /**
   * Previews the call from the disk as it is now, and changes nothing (AP-7, AP-8). `decision` is this machine's own.
   * Throws if the call cannot succeed (no match, no such file, permissions): the call ends with that reason.
   */
  look(call: CallOf<N>, decision: PolicyDecision, services: ServicesOf<N>): Look | Promise<Look>;
  /** A tool that changes files first compares `context.digest` with its own plan and calls `context.changes.begin`. */
  execute(call: CallOf<N>, context: CallContext, services: ServicesOf<N>): Promise<ToolSuccess<N>>;
  /** How to try the call in a layer, before anybody approved it (RN-13). Only commands can be tried. */
  triedCall?(call: CallOf<N>, decision: PolicyDecision, services: ServicesOf<N>): TriedCall;
  /** One text file before and after the call, for an editor's own diff. Undefined if the file is not text. */
  propose?(
    call: CallOf<N>,
    decision: PolicyDecision,
    services: ServicesOf<N>,
  ): Promise<ProposedText | undefined>;
  /** The result of a call that a crash interrupted after all of its changes were made (RN-3). */
  recover?(changes: readonly MadeChange[]): ToolSuccess<N>;
}

export type CallOf<N extends BuiltInToolName> = {
  [T in N]: { readonly tool: T; readonly params: ToolParams<T> };
}[N];

export type ServicesOf<N extends BuiltInToolName> = ToolServices[ToolCategoryOf<N>];

/** The services that the tools of one workspace use, by category. */
export interface ToolServices {
  readonly filesystem: FileServices;
  readonly command: CommandServices;
  readonly shell: ShellServices;
  readonly git: GitRepository;
  readonly lsp: LspExecutor;
}

export interface FileServices {
  readonly workspace: Workspace;
  readonly cache: ResultCache;
  /** Workspace-relative paths that the person's own policy file lifts from VA-2; read again for each call. */
  readonly liftedSensitivePaths?: () => ReadonlySet<string>;
}

export interface CommandServices {
  readonly workspace: Workspace;
  readonly starter: IsolatingStarter;
  /** For a command that is one `git fetch` or `git pull`. */
  readonly git?: GitRepository;
  /** Without it a command with network may reach any host. */
  readonly callNetwork?: CallNetwork;
  readonly heldHosts?: HeldHosts;
}

export interface ShellServices extends CommandServices {
  /** Makes it safe to run git in a LOW shell line. */
  readonly git: GitRepository;
  readonly jobs: BackgroundJobs;
}

export interface Look {
  /** The base of the call's digest: the call, its place and the files as they are (AP-8). */
  readonly digest: string;
  /** Called only if the preview is shown. */
  readonly draw: () => Preview;
}

/** A file before and after a call, whole, for an editor's own diff. */
export interface ProposedText {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  /** Null if there is no file yet. */
  readonly before: string | null;
  readonly after: string;
}

/** A recorded change that the disk shows as made. */
export interface MadeChange extends Pick<FileChange, 'path' | 'operation'> {
  /** Bytes of the file now; 0 if there is no file. */
  readonly size: number;
}
