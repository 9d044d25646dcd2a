import type { ChildProcess } from 'node:child_process';

/** What one program may see and do (RN-5). */
export interface Confinement {
  /** `none` is for programs that need no file of the workspace. `write` leaves VA-3 places read-only. */
  readonly workspace: 'none' | 'read' | 'write';
  readonly network: boolean;
  /**
   * Git itself may write `.git` (VA-3). `data`: the workspace's own, except its configuration and hooks; what is
   * planted elsewhere is set aside. `everything`: any `.git`, except hooks; what git checks out stays. `patches`: like
   * `everything`, but what is planted is set aside, because a patch may come from anybody.
   */
  readonly writableGit?: 'data' | 'patches' | 'everything' | undefined;
  /** Hides sensitive files (VA-2). Always for LOW; an approved program may read the workspace's own .env. */
  readonly maskSensitive: boolean;
  /** Hides files that have another name outside the workspace (VA-1): for programs that run unasked. */
  readonly maskLinkedOutside?: boolean;
  /** Folders beside the workspace that it may read (a language server's own files, a remote repository). */
  readonly readable?: readonly string[];
  /** Folders that it may also write: only the repository that an approved push goes to (RN-6). */
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
  /** Added to the allow-listed environment (VA-7). */
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin: 'ignore' | 'pipe';
}

/**
 * Starts programs in isolation; without it only if this machine has none and the operator decided so. Throws
 * PROGRAM_NOT_FOUND, SPAWN_FAILED or ISOLATION_UNAVAILABLE. Each process leads its own group.
 */
export interface ProcessStarter {
  start(request: ProcessRequest): ChildProcess;
  /** SIGTERM to the whole group, SIGKILL after 10 s (EX-8); resolves when no process of it is left. */
  stop(child: ChildProcess): Promise<void>;
}
