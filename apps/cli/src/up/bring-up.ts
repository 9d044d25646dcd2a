import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type PersonsFolders, personsFolders, workspaceAt } from '@countersign/tool-runner';
import { workspaceRoot } from '../sign-in/workspace-project.ts';
import { openInBrowser } from './open-in-browser.ts';
import { findRunningUp, type RunningUp } from './running-up.ts';
import { sampleFirstMessage } from './sample-message.ts';
import { ServerNotStarted } from './server-process.ts';
import { type UpOptions, UpSession } from './up-session.ts';

/** How long to wait for another `up` that is starting, even on a busy machine. */
const startMs = 15_000;

export interface BringUpOptions extends Omit<UpOptions, 'workspace' | 'configFolder' | 'firstMessage'> {
  /** The named folder; undefined for the sample workspace. */
  readonly folder: string | undefined;
}

/** Starts `up` for a workspace, or prints the address of the one that is running. Returns the exit code. */
export async function bringUp({ folder, ...options }: BringUpOptions): Promise<number> {
  const folders = personsFolders(options.env);
  const isSample = folder === undefined;
  const root = workspaceRoot(folder ?? sampleFolder(folders));
  const workspace = workspaceAt(root, { folders });
  const running = await findRunningUp(workspace.stateFolder);
  if (running) return showRunning(running, root, options);
  if (isSample) restoreSample(root);
  const session = new UpSession({
    ...options,
    workspace,
    configFolder: folders.config,
    firstMessage: isSample ? sampleFirstMessage : undefined,
  });
  try {
    return await session.run();
  } catch (error) {
    if (!(error instanceof ServerNotStarted && error.code === 'DATABASE_IN_USE')) throw error;
    // Another `up` started a moment ago: wait until it is ready, then print its address.
    const quicker = await findRunningUp(workspace.stateFolder, { withinMs: startMs });
    if (!quicker) throw new Error(options.words.up.notStarted(options.words.said(error)), { cause: error });
    return showRunning(quicker, root, options);
  }
}

type Shown = Pick<BringUpOptions, 'terminal' | 'env' | 'json' | 'open' | 'words'>;

/** Prints the address of the running `up`, with a fresh link. */
async function showRunning(
  running: RunningUp,
  root: string,
  { terminal, env, json, open, words }: Shown,
): Promise<number> {
  const { pid, address, sign_in_link } = running;
  if (json) {
    const line = { ready: true, already_running: true, address, sign_in_link, workspace: root, pid };
    await terminal.write(`${JSON.stringify(line)}\n`);
    return 0;
  }
  await terminal.write(`${words.up.isRunning(root, pid)}\n${words.up.freshLink(sign_in_link)}\n`);
  if (open && (await openInBrowser(sign_in_link, env))) await terminal.write(`${words.up.opened}\n`);
  return 0;
}

const original = fileURLToPath(new URL('../../sample-workspace', import.meta.url));

/** The person's copy of the sample, outside our state folder, which no tool may touch. */
function sampleFolder({ state }: PersonsFolders): string {
  const folder = join(dirname(state), 'countersign-sample', 'greetings');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Restores our sample files, so that the first message always has something to do. Leaves other files alone. */
function restoreSample(folder: string): void {
  cpSync(original, folder, { recursive: true, force: true });
}
