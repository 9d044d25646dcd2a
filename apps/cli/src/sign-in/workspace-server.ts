import { dirname } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { type PersonsFolders, personsFolders, workspaceAt } from '@countersign/tool-runner';
import type { Environment } from '../command-context.ts';
import { findRunningUp, readUpRecord } from '../up/running-up.ts';
import type { Words } from '../words.ts';
import { chosenAddress } from './server-access.ts';

export interface WorkspaceServer {
  readonly address: string;
  /** Set if the `countersign up` of this folder has ended. Then the address is a guess and may serve other projects. */
  readonly stoppedUp: string | undefined;
  /** Set if no `countersign up` is known for this folder, and the address is that of another local server. */
  readonly missingUp: string | undefined;
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
  const address = chosenAddress(named ?? up?.address, words, env);
  const isGuess = up !== undefined && up.address === undefined && up.stopped === undefined;
  return {
    address,
    stoppedUp: up?.stopped,
    missingUp: isGuess && isLocal(address) ? root : undefined,
  };
}

const isLocal = (address: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(address).hostname);

/** Finds the `up` of this folder or the nearest one around it. Returns its address, or the folder of an ended `up`. */
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
 * Runs `work` with the server of a workspace. If the workspace's `countersign up` has ended or never ran, an error of
 * another server (not signed in, not paired, no such project) would mislead, so the person is told to start `up`.
 */
export async function withServer<T>(
  { address, stoppedUp, missingUp }: WorkspaceServer,
  work: (address: string) => Promise<T>,
): Promise<T> {
  try {
    return await work(address);
  } catch (cause) {
    const isMissing = cause instanceof CountersignError && cause.code === 'USAGE';
    const workspace = stoppedUp ?? (isMissing ? missingUp : undefined);
    if (workspace === undefined) throw cause;
    throw new CountersignError('UP_NOT_RUNNING', { workspace }, { cause });
  }
}

/** Throws if no server responds; the error says what to start. */
export async function requireServer(address: string, words: Words): Promise<void> {
  try {
    const answered = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(5_000) });
    await answered.text(); // an unread body keeps the connection and the process alive
  } catch (cause) {
    const problem = words.doctor.serverDown(address, failureReason(cause));
    throw new CountersignError('USAGE', { problem, help: 'countersign up --help' }, { cause });
  }
}

/** Why `fetch` failed: the system's error code, such as ECONNREFUSED, else the message. */
export const failureReason = (error: unknown): string => {
  const { cause, message } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
};
