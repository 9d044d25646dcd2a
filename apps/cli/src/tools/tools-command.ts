import { parseArgs } from 'node:util';
import { personsFolders, ToolDesk, workspaceAt } from '@countersign/tool-runner';
import { type CommandContext, commandOptions, usageOf } from '../command-context.ts';
import { workspaceRoot } from '../server/workspace-project.ts';
import { allowServer, forbidServer } from './allow-server.ts';
import { listServers } from './list-servers.ts';
import { newTool } from './new-tool.ts';
import { toolsWordsFor } from './tools-words.ts';

const help = `countersign tools: your own tools, as MCP servers

  countersign tools list            which servers there are, their tools, and why one failed
  countersign tools allow NAME      lets a server of the workspace run on this machine, once you have seen what it runs
  countersign tools forbid NAME     takes that back
  countersign tools new NAME        makes a tool of your own, in TypeScript, that runs

Servers stand in "mcpServers" of your own mcp.json (in Countersign's configuration folder) and of the workspace's
.mcp.json. Yours start by themselves; a workspace's, and one that runs a program of the workspace, only once you
allowed it, and again when it changes. Each runs isolated: no network unless you grant it, no home, secrets masked.

Options
  --workspace DIR  which workspace (default: this directory)
  --digest DIGEST  allow: what was looked at, where there is no terminal to ask
  --in DIR         new: where to make it (default: ./NAME)
  --add            new: add it to your mcp.json as well
  --json           for programs
  --lang LANG      en or ru
`;

const usage = usageOf('tools');

/** `countersign tools list | allow | forbid | new` (RN-8). */
export async function toolsCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      ...commandOptions,
      workspace: { type: 'string' },
      digest: { type: 'string' },
      in: { type: 'string' },
      add: { type: 'boolean', default: false },
    },
  });
  const { terminal, env } = context;
  if (values.help) return terminal.write(help).then(() => 0);
  const words = toolsWordsFor(env, values.lang);
  const [action = 'list', name, unexpected] = positionals;
  const extra = action === 'list' ? name : unexpected;
  if (extra !== undefined) throw usage(context.words(values.lang).unexpected(extra));
  const folders = personsFolders(env);
  const workspace = () => workspaceAt(workspaceRoot(values.workspace), { folders });
  const desk = () => new ToolDesk(workspace(), folders.config);
  const about = { terminal, words, json: values.json };
  switch (action) {
    case 'list':
      return listServers(await desk().list(), folders.config, about);
    case 'allow':
      if (name === undefined) throw usage(words.which);
      return allowServer(desk(), name, values.digest, about);
    case 'forbid':
      if (name === undefined) throw usage(words.which);
      return forbidServer(desk(), name, about);
    case 'new':
      return newTool({ ...about, name, folder: values.in, add: values.add, config: folders.config, desk });
    default:
      throw usage(`There is no "tools ${action}"`);
  }
}
