import { writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { callTitle, conversationMarkdown } from '@countersign/approvals';
import type { Client } from '@countersign/client';
import { type Execution, type Message, type SessionMode, sessionModes } from '@countersign/protocol';
import { callsOfRun, undoThroughServer } from '../undo-through-server.ts';
import type { Words } from '../words.ts';
import { storedMessages } from './run-follower.ts';

/** The commands that a person may type in a conversation. Everything else with a slash goes to the agent. */
export const commandNames = [
  'undo',
  'rewind',
  'retry',
  'mode',
  'rename',
  'search',
  'export',
  'delete',
] as const;
export type CommandName = (typeof commandNames)[number];
/** The commands that an editor offers; it has its own ways to do the others. */
export const editorCommandNames = [
  'undo',
  'mode',
  'rename',
  'export',
] as const satisfies readonly CommandName[];

export interface TypedCommand<Name = CommandName> {
  readonly name: Name;
  /** What was typed after the name. */
  readonly rest: string;
}

export function readCommand<Name extends CommandName>(
  text: string,
  names: readonly Name[],
): TypedCommand<Name> | undefined {
  const [, typed = '', rest = ''] = /^\/(\w+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  const name = names.find((known) => known === typed);
  return name && { name, rest: rest.trim() };
}

/** What is typed after a command's name; undefined if nothing. */
export const inputOf = (name: CommandName, { commands }: Words): string | undefined =>
  name in commands.input ? commands.input[name as keyof Words['commands']['input']] : undefined;

export interface ConversationPlace {
  readonly client: Client;
  readonly projectId: string;
  readonly sessionId: string;
  readonly words: Words;
  /** Where `/export` writes. */
  readonly folder: string;
}

/** Switches the mode, or says which it is. Names are taken with blanks, underscores or hyphens, in any case. */
export async function switchMode(
  { client, sessionId, projectId, words }: ConversationPlace,
  rest: string,
): Promise<string> {
  const asked = rest.toLowerCase().replace(/[\s-]+/g, '_');
  const mode = sessionModes.find((known) => known === asked || nameOf(known, words) === rest.toLowerCase());
  if (rest !== '' && !mode) return words.commands.noMode(rest, modeChoices(words));
  if (mode) {
    await client.changeSession({ params: { session_id: sessionId }, body: { mode } });
    return words.commands.modeIs(words.modes[mode].name, words.modes[mode].means);
  }
  const { sessions } = await client.listSessions({ params: { project_id: projectId } });
  const now = sessions.find(({ session_id }) => session_id === sessionId)?.mode ?? 'ask';
  return `${words.commands.modeIs(words.modes[now].name, words.modes[now].means)}\n${words.commands.modeChoices(modeChoices(words))}`;
}

const nameOf = (mode: SessionMode, { modes }: Words): string => modes[mode].name.toLowerCase();
const modeChoices = ({ modes }: Words): string =>
  sessionModes.map((mode) => `${mode} (${modes[mode].name})`).join(', ');

export async function rename(
  { client, sessionId, words }: ConversationPlace,
  title: string,
): Promise<string> {
  if (title === '') return words.commands.renameHow;
  await client.changeSession({ params: { session_id: sessionId }, body: { title: title.slice(0, 200) } });
  return words.commands.renamed(title);
}

/** Writes the conversation as Markdown to a new file; an existing file is not overwritten. */
export async function exportConversation(
  { client, projectId, sessionId, words, folder }: ConversationPlace,
  file: string,
): Promise<string> {
  const messages: Message[] = [];
  for await (const message of storedMessages(client, projectId, sessionId)) messages.push(message);
  const { sessions } = await client.listSessions({ params: { project_id: projectId } });
  const title = sessions.find(({ session_id }) => session_id === sessionId)?.title ?? '';
  const path = resolve(folder, file === '' ? `${fileNameOf(title, sessionId)}.md` : file);
  try {
    await writeFile(path, conversationMarkdown({ title, messages }, words.calls), {
      flag: 'wx',
      mode: 0o600,
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'EEXIST' ? words.commands.exportExists(path) : words.commands.exportFailed(path, message);
  }
  return words.commands.exported(path);
}

const fileNameOf = (title: string, sessionId: string): string =>
  basename(title.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '')).slice(0, 60) ||
  `conversation-${sessionId.slice(-8)}`;

/** The changes of the latest run that can be undone, newest first; empty if there are none. */
export async function undoableCalls({ client, sessionId }: ConversationPlace): Promise<Execution[]> {
  const { executions } = await client.history({ query: { session_id: sessionId, limit: 200 } });
  const latest = executions.find(({ undoable, undone_at }) => undoable && undone_at === null);
  if (!latest) return [];
  return latest.run_id === null ? [latest] : callsOfRun(client, latest.run_id);
}

export const titleOfCall = (
  { tool_name: toolName, tool_params: params, status }: Execution,
  { calls }: Words,
): string => callTitle({ toolName, params, status }, calls);

const undoSeconds = 30;
/** A large run is undone in several steps, and the server waits for the runner at each. */
const undoRunMs = 120_000;

/** Undoes calls of one run, all or nothing (RN-3), and reports the outcome. */
export async function undoCalls(
  { client, words }: ConversationPlace,
  calls: readonly Execution[],
): Promise<string> {
  const [first] = calls;
  if (!first) return words.commands.nothingToUndo;
  const done = calls.map((call) => words.undo.done(titleOfCall(call, words))).join('\n');
  const failed = (why: string) => words.undo.failed(titleOfCall(first, words), why);
  if (first.run_id === null) {
    const { status, error } = await undoThroughServer(client, first, false, undoSeconds, words.undo.noAnswer);
    return status === 'completed' ? done : failed(words.said(error?.message ?? ''));
  }
  try {
    await client.undoRun({ params: { run_id: first.run_id }, body: {} }, { timeoutMs: undoRunMs });
    return done;
  } catch (error) {
    return words.said(error as Error);
  }
}
