import { parseArgs } from 'node:util';
import { personsFolders, workspaceAt } from '@countersign/tool-runner';
import { type CommandContext, commandOptions, numberOption, usageOf } from './command-context.ts';
import { workspaceRoot } from './server/workspace-project.ts';
import { openInBrowser } from './up/open-in-browser.ts';
import { findRunningUp, type RunningUp } from './up/running-up.ts';
import { restoreSample, sampleFirstMessage, sampleFolder } from './up/sample-workspace.ts';
import { UpSession } from './up/up-session.ts';
import { type UpWords, upWordsFor } from './up/up-words.ts';

const help = `countersign up: server, runner and web page in one command

  countersign up           in a sample workspace, to try it
  countersign up DIR       in your own

It listens on this machine only, prints a sign-in link and opens it in your browser. What you approve there is executed
here, in DIR. Everything is kept in your state folder, apart for each workspace. Without a model's key you type the tool
calls yourself; COUNTERSIGN_MODEL=anthropic:… or openai:… with a key gives you an agent (countersign serve --help has
every setting). Ctrl-C ends everything, a second Ctrl-C at once.

Options
  --no-open         do not open a browser
  --port PORT       this port (default: the one of last time, or a free one)
  --prompt          ask for approvals in this terminal too
  --run-unisolated  where commands cannot be isolated, harmless ones run all the same instead of asking
  --verbose         show what the runner logs
  --json            print one line with the address when it is ready, and nothing else
  --lang LANG       en or ru
`;

const usage = usageOf('up');

/** `countersign up [DIR]` (UI-4). */
export async function upCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      ...commandOptions,
      'no-open': { type: 'boolean', default: false },
      port: { type: 'string' },
      prompt: { type: 'boolean', default: false },
      'run-unisolated': { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
    },
  });
  const { terminal, env } = context;
  if (values.help) return terminal.write(help).then(() => 0);
  const words = context.words(values.lang);
  const upWords = upWordsFor(env, values.lang);
  const [named, unexpected] = positionals;
  if (unexpected !== undefined) throw usage(words.unexpected(unexpected));
  const range = { min: 1, max: 65_535 };
  const port = values.port === undefined ? undefined : numberOption('port', values.port, range, words, usage);
  const folders = personsFolders(env);
  const isSample = named === undefined;
  const root = workspaceRoot(named ?? sampleFolder(folders));
  const workspace = workspaceAt(root, { folders });
  const open = !values['no-open'] && !values.json;

  const running = await findRunningUp(workspace.stateFolder);
  if (running) return showRunning(running, { ...context, root, json: values.json, open, upWords });
  if (isSample) restoreSample(root);
  return new UpSession({
    terminal,
    env,
    workspace,
    configFolder: folders.config,
    firstMessage: isSample ? sampleFirstMessage : undefined,
    port,
    open,
    prompt: values.prompt,
    runUnisolated: values['run-unisolated'],
    verbose: values.verbose,
    json: values.json,
    words,
    upWords,
  }).run();
}

interface Shown extends Pick<CommandContext, 'terminal' | 'env'> {
  readonly root: string;
  readonly json: boolean;
  readonly open: boolean;
  readonly upWords: UpWords;
}

/** A second one for the same workspace: the first one's address, with a fresh link. */
async function showRunning(running: RunningUp, shown: Shown): Promise<number> {
  const { terminal, env, root, json, open, upWords } = shown;
  const { pid, address, sign_in_link } = running;
  if (json) {
    const line = { ready: true, already_running: true, address, sign_in_link, workspace: root, pid };
    await terminal.write(`${JSON.stringify(line)}\n`);
    return 0;
  }
  await terminal.write(`${upWords.isRunning(root, pid)}\n${upWords.freshLink(sign_in_link)}\n`);
  if (open && (await openInBrowser(sign_in_link, env))) await terminal.write(`${upWords.opened}\n`);
  return 0;
}
