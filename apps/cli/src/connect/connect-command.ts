import { parseArgs } from 'node:util';
import { CountersignError } from '@countersign/protocol';
import { personsFolders, workspaceAt } from '@countersign/tool-runner';
import { type CommandContext, commandOptions, usageOf } from '../command-context.ts';
import { endWithInput } from '../end-with-input.ts';
import { serverAccess } from '../server/server-access.ts';
import { findOrMakeProject, workspaceRoot } from '../server/workspace-project.ts';
import { ConnectSession } from './connect-session.ts';

const help = `countersign connect: the runner of a workspace, in this terminal

  countersign connect [DIR]        (default: this directory)

It executes on this machine what you approve, and shows what happens. Approvals are asked here, each with a preview
of what would happen: y approve, n reject, a approve more than this one, e edit, ? help. It reconnects by itself;
Ctrl-C ends it, a second Ctrl-C at once.

Options
  --no-prompt      ask nothing here: another place decides
  --project ID     connect to this project (default: the one of DIR; it is made when there is none)
  --run-unisolated where commands cannot be isolated, harmless ones run all the same instead of asking
  --end-with-input end when the standard input ends: for a program that starts it
  --verbose        show what the runner logs
  --json           print what happens as JSON Lines, and ask nothing
  --server URL     which server (default: the last one you signed in to)
  --lang LANG      en or ru
`;

const usage = usageOf('connect');

/** `countersign connect [DIR]` (RN-1, RN-10). */
export async function connectCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      ...commandOptions,
      server: { type: 'string' },
      project: { type: 'string' },
      'no-prompt': { type: 'boolean', default: false },
      'run-unisolated': { type: 'boolean', default: false },
      'end-with-input': { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
    },
  });
  const { terminal, env } = context;
  if (values.help) return terminal.write(help).then(() => 0);
  if (values['end-with-input']) endWithInput();
  const words = context.words(values.lang);
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
    lang: values.lang,
    terminal,
    env,
    json: values.json,
    prompt: !values['no-prompt'] && !values.json,
    runUnisolated: values['run-unisolated'],
    verbose: values.verbose,
  });
  if (isNew) session.say(words.connect.madeProject(project.name));
  try {
    return await session.run();
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'JOURNAL_UNAVAILABLE') {
      terminal.writeError(`${error.message}\n`);
      return 1;
    }
    throw error;
  }
}
