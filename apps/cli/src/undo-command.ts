import { callTitle } from '@countersign/approvals';
import { ApiError } from '@countersign/client';
import type { Execution } from '@countersign/protocol';
import { personsFolders, type UndoneCall, undoHere, workspaceAt } from '@countersign/tool-runner';
import { type CommandContext, numberOption, usageOf } from './command-context.ts';
import { helpText, readOptions } from './command-options.ts';
import { visible } from './screen/paragraph.ts';
import { serverAccess } from './sign-in/server-access.ts';
import { workspaceRoot } from './sign-in/workspace-project.ts';
import { callsOfRun, type UndoOutcome, undoThroughServer } from './undo-through-server.ts';
import type { Words } from './words.ts';

const usage = usageOf('undo');

/** `countersign undo TOOL_ID | --last | --run RUN_ID` (RN-3, RN-12). */
export async function undoCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('undo', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('undo', words)).then(() => 0);
  const { run, force, last } = values;
  const [toolId, unexpected] = positionals;
  if (unexpected !== undefined) throw usage(words.unexpected(unexpected));
  const named = [toolId, run, last || undefined].filter((what) => what !== undefined);
  if (named.length !== 1 || (values.offline && run !== undefined)) throw usage(words.undo.which);
  const seconds = numberOption('timeout', values.timeout, { min: 1, max: 3600 }, words, usage);
  const tell = (outcome: UndoOutcome, what: string) =>
    report(outcome, what, { json: values.json, force, words, context });

  const offline = async () => {
    const { outcome, call } = await undoOffline(toolId, { folder: values.workspace, force, env });
    return (await tell(outcome, call ? lastTitle(call, words) : (toolId ?? '--last'))) ? 0 : 1;
  };
  if (values.offline || last) return offline();
  const { client } = serverAccess(values.server, words, env);
  let calls: Execution[];
  try {
    calls =
      run === undefined
        ? [(await client.getExecution({ params: { tool_id: toolId ?? '' } })).execution]
        : await callsOfRun(client, run);
  } catch (error) {
    // Without a server, undo a call from this machine's journal; only the server knows the calls of a run.
    if (toolId === undefined || !(error instanceof ApiError) || error.status !== 0) throw error;
    terminal.writeError(`${words.undo.offline(error.code)}\n`);
    return offline();
  }
  if (calls.length === 0) throw usage(words.undo.nothing);
  // JSON is always in English, because programs read the message.
  const { noAnswer } = (values.json ? context.words('en') : words).undo;
  let isAllDone = true;
  for (const call of calls) {
    const { tool_name: toolName, tool_params: params, status } = call;
    const what = callTitle({ toolName, params, status }, words.calls);
    if (!values.json && terminal.interactive) terminal.writeError(`${words.undo.asked(what)}\n`);
    const outcome = await undoThroughServer(client, call, force, seconds, noAnswer);
    if (!(await tell(outcome, what))) isAllDone = false;
  }
  return isAllDone ? 0 : 1;
}

/** Undoes from the journal: by the runner that has the workspace, else here. Without `tool_id`, the newest call. */
async function undoOffline(
  tool_id: string | undefined,
  about: { folder: string | undefined; force: boolean; env: CommandContext['env'] },
): Promise<{ outcome: UndoOutcome; call: UndoneCall | undefined }> {
  const folders = personsFolders(about.env);
  const workspace = workspaceAt(workspaceRoot(about.folder), { folders });
  const place = { workspace, configFolder: folders.config, program: 'countersign undo' };
  const toolIds = tool_id === undefined ? undefined : [tool_id];
  const { report, call } = await undoHere(place, { toolIds, force: about.force });
  const { status, error, undo_id } = report;
  const undone = tool_id ?? call?.toolId ?? '';
  return { outcome: { tool_id: undone, undo_id: undo_id ?? null, status, error: error ?? null }, call };
}

const lastTitle = ({ tool, command, paths, count }: UndoneCall, { undo }: Words): string =>
  command === undefined
    ? undo.last(tool, visible(paths.join(', ')), count - paths.length)
    : `countersign try -- ${visible(command)}`;

/** Prints the outcome. Returns whether the call was undone. */
async function report(
  outcome: UndoOutcome,
  what: string,
  about: { json: boolean; force: boolean; words: Words; context: CommandContext },
): Promise<boolean> {
  const { json, force, words } = about;
  const { terminal } = about.context;
  const isDone = outcome.status === 'completed';
  if (json) await terminal.write(`${JSON.stringify(outcome)}\n`);
  else if (isDone) {
    await terminal.write(`${words.undo.done(what)}\n`);
    if (force && outcome.undo_id !== null)
      terminal.writeError(`${words.undo.takeBack(visible(outcome.undo_id))}\n`);
  } else {
    terminal.writeError(`${words.undo.failed(what, visible(words.said(outcome.error ?? outcome.status)))}\n`);
    if (outcome.error?.code === 'UNDO_CONFLICT') terminal.writeError(`${words.undo.forceHint}\n`);
  }
  return isDone;
}
