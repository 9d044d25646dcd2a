import { CountersignError } from '@countersign/protocol';
import { personsFolders, workspaceAt } from '@countersign/tool-runner';
import { type CommandContext, usageOf } from '../command-context.ts';
import { helpText, readOptions } from '../command-options.ts';
import { endWithInput } from '../end-with-input.ts';
import { serverAccess } from '../sign-in/server-access.ts';
import { findOrMakeProject, workspaceRoot } from '../sign-in/workspace-project.ts';
import { ConnectSession } from './connect-session.ts';
import { readLogOptions } from './log-options.ts';

const usage = usageOf('connect');

/** `countersign connect [DIR]` (RN-1, RN-10). */
export async function connectCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('connect', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('connect', words)).then(() => 0);
  if (values['end-with-input']) endWithInput();
  if (positionals[1] !== undefined) throw usage(words.unexpected(positionals[1]));
  const root = workspaceRoot(positionals[0]);
  const folders = personsFolders(env);
  const workspace = workspaceAt(root, { folders });
  const access = serverAccess(values.server, words, env);
  const wanted = { root, projectId: values.project };
  const { project, isNew } = await findOrMakeProject(access.client, wanted, words, usage);
  const session = new ConnectSession({
    access,
    project,
    workspace,
    configFolder: folders.config,
    words,
    terminal,
    env,
    json: values.json,
    prompt: !values['no-prompt'] && !values.json,
    runUnisolated: values['run-unisolated'],
    log: readLogOptions(values, words, usage),
  });
  if (isNew) session.say(words.connect.madeProject(project.name));
  try {
    return await session.run();
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'JOURNAL_UNAVAILABLE') {
      terminal.writeError(`${words.said(error)}\n`);
      return 1;
    }
    throw error;
  }
}
