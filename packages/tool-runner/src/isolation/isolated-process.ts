import type { ChildProcess } from 'node:child_process';

/** What one program may see and do (RN-5). */
export interface Confinement {
  /** The workspace: `none` is for programs that need no file of it. `write` leaves VA-3 places read-only. */
  readonly workspace: 'none' | 'read' | 'write';
  readonly network: boolean;
  /**
   * `.git` may be written, for git itself only (VA-3). `data`: the workspace's own, without its configuration and hooks,
   * and what is planted elsewhere is set aside. `everything`: any, without their hooks, and what is checked out stays.
   * `patches`: the same, but what is planted is set aside: a patch is a file that anybody wrote, no history.
   */
  readonly writableGit?: 'data' | 'patches' | 'everything' | undefined;
  /** Hides sensitive files (VA-2): always for LOW; an approved program may read the workspace's own .env. */
  readonly maskSensitive: boolean;
  /** Hides files that have a further name outside the workspace (VA-1): for what runs unasked and reads by itself. */
  readonly maskLinkedOutside?: boolean;
  /** Folders beside the workspace that it may read (a language server's own files, a remote repository). */
  readonly readable?: readonly string[];
  /** Folders that it may also write: only the repository that an approved push goes to by its path (RN-6). */
  readonly writable?: readonly string[];
  /** Bytes of RLIMIT_DATA, seconds of CPU, number of descriptors. */
  readonly limits?: { readonly memoryBytes?: number; readonly cpuSeconds?: number; readonly files?: number };
}

export interface ProcessRequest {
  /** The program by its bare name, found on the fixed PATH, or an absolute path of ours; never in the workspace. */
  readonly program: string;
  readonly args: readonly string[];
  /** Workspace-relative. */
  readonly cwd: string;
  readonly confinement: Confinement;
  /** Joins the allow-listed environment (VA-7). */
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin: 'ignore' | 'pipe';
}

/**
 * Starts programs in isolation, or without where this machine has none and the operator decided so. Throws
 * PROGRAM_NOT_FOUND, SPAWN_FAILED or ISOLATION_UNAVAILABLE. Each process leads its own group.
 */
export interface ProcessStarter {
  start(request: ProcessRequest): ChildProcess;
  /** SIGTERM to the whole group, SIGKILL after 10 s (EX-8); resolves when nothing of it is left. */
  stop(child: ChildProcess): Promise<void>;
}
