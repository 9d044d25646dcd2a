import { parseArgs } from 'node:util';
import { ApiError, type Client, openStream } from '@countersign/client';
import { CountersignError, type EventPayload, type Execution } from '@countersign/protocol';
import { personsFolders, type RunnerApi, WorkspaceRunner, workspaceAt } from '@countersign/tool-runner';
import { callWords } from './call-line.ts';
import { type CommandContext, commandOptions, numberOption, usageOf } from './command-context.ts';
import { visible } from './screen/paragraph.ts';
import { serverAccess } from './sign-in/server-access.ts';
import { workspaceRoot } from './sign-in/workspace-project.ts';
import type { Words } from './words.ts';

const usage = usageOf('undo');

interface Outcome {
  readonly tool_id: string;
  readonly undo_id: string | null;
  readonly status: 'completed' | 'failed' | 'cancelled' | 'no_answer';
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** `countersign undo TOOL_ID | --run RUN_ID` (RN-3). */
export async function undoCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      ...commandOptions,
      server: { type: 'string' },
      run: { type: 'string' },
      force: { type: 'boolean', default: false },
      offline: { type: 'boolean', default: false },
      workspace: { type: 'string' },
      timeout: { type: 'string', default: '30' },
    },
  });
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(words.help.undo).then(() => 0);
  const { run, force } = values;
  const [toolId, unexpected] = positionals;
  if (unexpected !== undefined) throw usage(words.unexpected(unexpected));
  if ((toolId === undefined) === (run === undefined) || (values.offline && toolId === undefined)) {
    throw usage(words.undo.which);
  }
  const seconds = numberOption('timeout', values.timeout, { min: 1, max: 3600 }, words, usage);
  const tell = (outcome: Outcome, what: string) =>
    report(outcome, what, { json: values.json, force, words, context });

  const offline = async () => {
    const outcome = await undoOffline(toolId ?? '', { folder: values.workspace, force, env });
    return (await tell(outcome, toolId ?? '')) ? 0 : 1;
  };
  if (values.offline) return offline();
  const { client } = serverAccess(values.server, words, env);
  let calls: Execution[];
  try {
    calls = run === undefined ? [await callOf(client, toolId ?? '')] : await callsOfRun(client, run);
  } catch (error) {
    // Without a server, undo a call from this machine's journal; only the server knows the calls of a run.
    if (toolId === undefined || !(error instanceof ApiError) || error.status !== 0) throw error;
    terminal.writeError(`${words.undo.offline(error.code)}\n`);
    return offline();
  }
  if (calls.length === 0) throw usage(words.undo.nothing);
  // Programs read the message, so it is in one language.
  const { noAnswer } = (values.json ? context.words('en') : words).undo;
  let isAllDone = true;
  for (const call of calls) {
    const what = callWords(call.tool_name, call.tool_params);
    if (!values.json && terminal.interactive) terminal.writeError(`${words.undo.asked(what)}\n`);
    const outcome = await undoThroughServer(client, call, force, seconds, noAnswer);
    if (!(await tell(outcome, what))) isAllDone = false;
  }
  return isAllDone ? 0 : 1;
}

async function callOf(client: Client, tool_id: string): Promise<Execution> {
  return (await client.getExecution({ params: { tool_id } })).execution;
}

/** Newest first, because changes must be undone in reverse order. */
async function callsOfRun(client: Client, run_id: string): Promise<Execution[]> {
  const found: Execution[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { run_id, limit: 200, ...(cursor !== undefined && { cursor }) };
    const { executions, next_cursor } = await client.history({ query });
    found.push(...executions.filter(({ undoable, undone_at }) => undoable && undone_at === null));
    if (next_cursor === null) return found;
    cursor = next_cursor;
  }
}

/** Requests the undo and waits for its outcome on a stream that was opened before. */
async function undoThroughServer(
  client: Client,
  { tool_id, project_id }: Execution,
  force: boolean,
  seconds: number,
  noAnswer: Words['undo']['noAnswer'],
): Promise<Outcome> {
  const results: EventPayload<'tool.result'>[] = [];
  let wake = () => {};
  let isOpen = false;
  const stream = openStream({
    client,
    projectId: project_id,
    onEvent: ({ event, data }) => {
      if (event === 'tool.result' && data.tool_id === tool_id) results.push(data);
      wake();
    },
    onState: ({ status }) => {
      isOpen = status === 'open';
      wake();
    },
  });
  const deadline = performance.now() + seconds * 1000;
  const until = async (holds: () => boolean): Promise<boolean> => {
    while (!holds()) {
      const left = deadline - performance.now();
      if (left <= 0 || stream.state.status === 'closed') return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return true;
  };
  try {
    await until(() => isOpen);
    const { undo_id } = await client.undoExecution({ params: { tool_id }, body: { force } });
    const found = () => results.find((result) => result.undo_id === undo_id);
    await until(() => found() !== undefined);
    const result = found();
    return result
      ? { tool_id, undo_id, status: result.status as Outcome['status'], error: result.error }
      : {
          tool_id,
          undo_id,
          status: 'no_answer',
          error: { code: 'UNAVAILABLE', message: noAnswer(seconds) },
        };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    const { code, message } = error;
    return { tool_id, undo_id: null, status: 'failed', error: { code, message } };
  } finally {
    stream.close();
  }
}

/** Undoes from the journal, as the runner would. The outcome is sent when a runner connects again. */
async function undoOffline(
  tool_id: string,
  about: { folder: string | undefined; force: boolean; env: CommandContext['env'] },
): Promise<Outcome> {
  const folders = personsFolders(about.env);
  const workspace = workspaceAt(workspaceRoot(about.folder), { folders });
  const runner = new WorkspaceRunner({
    runnerId: 'offline',
    workspace,
    configFolder: folders.config,
    api: nobody,
    dialogProvider: undefined,
    logger: { debug() {}, info() {}, error() {} },
    program: 'countersign undo',
  });
  try {
    const { status, error, undo_id } = await runner.handler.undoCalls([tool_id], { force: about.force });
    return { tool_id, undo_id: undo_id ?? null, status, error: error ?? null };
  } finally {
    await runner.dispose();
  }
}

const unreachable = async (): Promise<never> => {
  throw new CountersignError('UNAVAILABLE', { problem: 'this undo is made without a server' });
};
const nobody: RunnerApi = {
  approveToolExecution: unreachable,
  rejectToolExecution: unreachable,
  sendToolResult: unreachable,
};

/** Returns whether it was undone. */
async function report(
  outcome: Outcome,
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
    terminal.writeError(
      `${words.undo.failed(what, visible(words.said(outcome.error?.message ?? outcome.status)))}\n`,
    );
    if (outcome.error?.code === 'UNDO_CONFLICT') terminal.writeError(`${words.undo.forceHint}\n`);
  }
  return isDone;
}
