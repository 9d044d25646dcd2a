import { dirname } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { personsFolders, workspaceAt } from '@countersign/tool-runner';
import { findRunningUp, readUpRecord } from '../up/running-up.ts';
import type { Words } from '../words.ts';
import { chosenAddress } from './server-access.ts';

type PersonsFolders = ReturnType<typeof personsFolders>;
type Environment = Readonly<Record<string, string | undefined>>;

export interface WorkspaceServer {
  readonly address: string;
  /** Set if the `countersign up` of this folder has ended. Then the address is a guess and may serve other projects. */
  readonly stoppedUp: string | undefined;
}

/**
 * Chooses the server for programs that an editor or agent starts in a workspace: the named one, else that of
 * `countersign up` for this folder or one around it, else that of the last sign-in.
 */
export async function serverForWorkspace(
  named: string | undefined,
  root: string,
  words: Words,
  env: Environment,
): Promise<WorkspaceServer> {
  const up = named === undefined && !env.COUNTERSIGN_URL ? await findUp(root, env) : undefined;
  return { address: chosenAddress(named ?? up?.address, words, env), stoppedUp: up?.stopped };
}

/** Finds the `up` of a folder or of the nearest folder around it: its address, or the folder whose `up` has ended. */
async function findUp(root: string, env: Environment): Promise<{ address?: string; stopped?: string }> {
  const folders = personsFolders(env);
  let stopped: string | undefined;
  for (let folder = root; ; folder = dirname(folder)) {
    const stateFolder = stateFolderOf(folder, folders);
    const running = stateFolder === undefined ? undefined : await findRunningUp(stateFolder);
    if (running) return { address: running.address };
    if (stateFolder !== undefined && readUpRecord(stateFolder).port !== undefined) stopped ??= folder;
    if (folder === dirname(folder)) return stopped === undefined ? {} : { stopped };
  }
}

/** Undefined if the folder cannot be a workspace: then nothing runs for it. */
function stateFolderOf(folder: string, folders: PersonsFolders): string | undefined {
  try {
    return workspaceAt(folder, { folders }).stateFolder;
  } catch {
    return undefined;
  }
}

/**
 * Runs `work` with the server of a workspace. If the workspace's `countersign up` has ended, an error of another server
 * (not signed in, not paired, no such project) would mislead, so the person is told to start `up`.
 */
export async function withServer<T>(
  { address, stoppedUp }: WorkspaceServer,
  work: (address: string) => Promise<T>,
): Promise<T> {
  try {
    return await work(address);
  } catch (cause) {
    if (stoppedUp === undefined) throw cause;
    throw new CountersignError('UP_NOT_RUNNING', { workspace: stoppedUp }, { cause });
  }
}

/** Throws if no server responds, with what to start. */
export async function requireServer(address: string, words: Words): Promise<void> {
  try {
    const answered = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(5_000) });
    await answered.text(); // an unread body keeps the connection and the process alive
  } catch (cause) {
    const problem = words.doctor.serverDown(address, reasonOf(cause));
    throw new CountersignError('USAGE', { problem, help: 'countersign up --help' }, { cause });
  }
}

const reasonOf = (error: unknown): string => {
  const { cause, message } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
};
