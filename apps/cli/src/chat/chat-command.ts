import { type CommandContext, usageOf } from '../command-context.ts';
import { helpText, readOptions } from '../command-options.ts';
import { serverAccess } from '../sign-in/server-access.ts';
import { findProject, onlyProject, workspaceRoot } from '../sign-in/workspace-project.ts';
import { requireServer, serverForWorkspace, withServer } from '../sign-in/workspace-server.ts';
import { ChatInTerminal } from './chat-in-terminal.ts';
import { type ChatPlace, chatOnce } from './chat-once.ts';

const usage = usageOf('chat');

/** `countersign chat [MESSAGE]`. */
export async function chatCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('chat', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('chat', words)).then(() => 0);
  const readsInput = positionals[0] === '-' || (positionals.length === 0 && !terminal.screen);
  const message = readsInput ? await readAll(terminal.stdin) : positionals.join(' ');
  if ((readsInput || values.json) && message.trim() === '') throw usage(words.chat.emptyMessage);

  const root = workspaceRoot(values.workspace);
  const found = await serverForWorkspace(values.server, root, words, env);
  // Do not ask for `up` in this folder if a project was named, because it may be another folder's.
  const missingUp = values.project === undefined ? found.missingUp : undefined;
  const { access, project, isHere } = await withServer({ ...found, missingUp }, async (address) => {
    const access = serverAccess(address, words, env);
    await requireServer(address, words);
    const { client } = access;
    const here = await findProject(client, { root, projectId: values.project, inside: true }, words, usage);
    // If this folder's `up` has ended, another server's project is not the one that is meant.
    const isElsewhere = values.workspace === undefined && found.stoppedUp === undefined;
    const only = here || !isElsewhere ? undefined : await onlyProject(client);
    const project = here ?? only;
    if (!project) throw usage(words.server.noProject(root));
    return { access, project, isHere: here !== undefined };
  });
  const { client } = access;
  if (!isHere) terminal.writeError(`${words.chat.onlyProject(project.workspace ?? project.name)}\n`);
  const params = { project_id: project.project_id };
  const sessionId = values.new
    ? (await client.createSession({ params, body: {} })).session.session_id
    : values.session;
  const place: ChatPlace = { access, project, sessionId, model: values.model, words, terminal, env };
  if (!values.json) await warnWithoutRunner(place);
  const { screen } = terminal;
  if (screen && !values.json) return new ChatInTerminal({ ...place, screen, message }).run();
  return chatOnce(place, message, { json: values.json });
}

/** EX-10: tells the person which workspace to open, before the agent waits for it. */
async function warnWithoutRunner({ access, project, words, terminal }: ChatPlace): Promise<void> {
  const { runners } = await access.client.listRunners();
  const isThere = runners.some(({ project_id, connected }) => connected && project_id === project.project_id);
  if (!isThere) terminal.writeError(`${words.chat.noRunner(project.workspace ?? project.name)}\n`);
}

async function readAll(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of input) chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks).toString('utf8');
}
