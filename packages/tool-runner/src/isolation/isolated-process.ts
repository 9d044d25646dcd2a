import type { ChildProcess } from 'node:child_process';
import type { NetworkAccess } from '@countersign/protocol';
import type { Layer } from '../layers/layers.ts';
import type { ConversationPlace } from './conversation-place.ts';

/** The files and network that a program gets (RN-5). */
export interface Confinement {
  /** `none` hides the workspace. `write` makes the workspace writable, except for places that execute later (VA-3). */
  readonly workspace: 'none' | 'read' | 'write';
  /** True: any host. A list: only these hosts, through the network gate. */
  readonly network: NetworkAccess;
  /** Called for each host that `network` does not name; the connection waits for the decision. */
  readonly askForHost?: ((host: string) => Promise<boolean>) | undefined;
  /**
   * Which part of `.git` the program may write; only git itself gets this (VA-3). `data`: the workspace's own `.git`,
   * except configuration and hooks; planted files elsewhere are set aside. `everything`: any `.git`, except hooks; the
   * files that git checks out stay. `patches`: like `everything`, but planted files are set aside, because a patch may
   * come from anybody.
   */
  readonly writableGit?: 'data' | 'patches' | 'everything' | undefined;
  /** Hides sensitive files (VA-2). True for LOW programs; an approved program may read the workspace's own .env. */
  readonly maskSensitive: boolean;
  /** Hides files that have another hard link outside the workspace (VA-1). True for programs that run without approval. */
  readonly maskLinkedOutside?: boolean;
  /** Folders outside the workspace that the program may read, such as a language server's own files. */
  readonly readable?: readonly string[];
  /** Folders outside the workspace that the program may write: only the target repository of an approved push (RN-6). */
  readonly writable?: readonly string[];
  /** `memoryBytes` is RLIMIT_DATA; `files` is the number of open descriptors; `fileBytes` is the size of one file. */
  readonly limits?: {
    readonly memoryBytes?: number;
    readonly cpuSeconds?: number;
    readonly files?: number;
    readonly fileBytes?: number;
  };
}

export interface ProcessRequest {
  /** A bare name, which is looked up on the fixed PATH, or an absolute path outside the workspace. */
  readonly program: string;
  readonly args: readonly string[];
  /** Workspace-relative. */
  readonly cwd: string;
  readonly confinement: Confinement;
  /** The conversation's `/tmp` and loopback; without it the program has its own (RN-5). */
  readonly place?: ConversationPlace | undefined;
  /** Takes what the program writes in the workspace, which stays as it is (RN-11). Then no place in it needs protection. */
  readonly layer?: Layer | undefined;
  /** Added to the allow-listed environment (VA-7). */
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin: 'ignore' | 'pipe';
}

/** Starts programs in isolation, or without if isolation does not work here and the operator allows that. */
export interface ProcessStarter {
  /** The process leads its own group. Throws PROGRAM_NOT_FOUND, SPAWN_FAILED or ISOLATION_UNAVAILABLE. */
  start(request: ProcessRequest): ChildProcess;
  /** Sends SIGTERM to the whole group, and SIGKILL after 10 s (EX-8). Resolves when all its processes have ended. */
  stop(child: ChildProcess): Promise<void>;
}
