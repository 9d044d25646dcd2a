import { dirname } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { personsFolders, workspaceAt } from '@countersign/tool-runner';
import { findRunningUp } from '../up/running-up.ts';
import type { Words } from '../words.ts';
import { type ServerAccess, serverAccess } from './server-access.ts';

type PersonsFolders = ReturnType<typeof personsFolders>;
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The server that is meant for a workspace, for programs that an editor or an agent starts there: the one that was
 * named, else that of `countersign up` for this folder or one around it, else the last one signed in to.
 */
export async function addressForWorkspace(
  named: string | undefined,
  root: string,
  env: Environment,
): Promise<string | undefined> {
  if (named !== undefined || env.COUNTERSIGN_URL) return named;
  const folders = personsFolders(env);
  for (let folder = root; ; folder = dirname(folder)) {
    const stateFolder = stateFolderOf(folder, folders);
    const running = stateFolder === undefined ? undefined : await findRunningUp(stateFolder);
    if (running || folder === dirname(folder)) return running?.address;
  }
}

/** Of a folder that may be none that can be a workspace: then nothing runs for it. */
function stateFolderOf(folder: string, folders: PersonsFolders): string | undefined {
  try {
    return workspaceAt(folder, { folders }).stateFolder;
  } catch {
    return undefined;
  }
}

/** The person's access to it. Throws what to do when nobody is there. */
export async function accessForWorkspace(
  named: string | undefined,
  root: string,
  words: Words,
  env: Environment,
): Promise<ServerAccess> {
  const access = serverAccess(await addressForWorkspace(named, root, env), words, env);
  await requireServer(access.address, words);
  return access;
}

/** Throws when nobody answers there, in words that say what to start. */
export async function requireServer(address: string, words: Words): Promise<void> {
  try {
    const answered = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(5_000) });
    await answered.text(); // what is not read keeps the connection, and with it the process
  } catch (cause) {
    const problem = words.doctor.serverDown(address, reasonOf(cause));
    throw new CountersignError('USAGE', { problem, help: 'countersign up --help' }, { cause });
  }
}

const reasonOf = (error: unknown): string => {
  const { cause, message } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
};
