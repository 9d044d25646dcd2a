import { personsFolders, ToolServerList, workspaceAt } from '@countersign/tool-runner';
import { type CommandContext, usageOf } from '../command-context.ts';
import { helpText, readOptions } from '../command-options.ts';
import { workspaceRoot } from '../sign-in/workspace-project.ts';
import { allowServer, forbidServer } from './allow-server.ts';
import { listServers } from './list-servers.ts';
import { newTool } from './new-tool.ts';

const usage = usageOf('tools');

/** `countersign tools list | allow | forbid | new` (RN-8). */
export async function toolsCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('tools', argv);
  const { terminal, env } = context;
  const own = context.words(values.lang);
  if (values.help) return terminal.write(helpText('tools', own)).then(() => 0);
  const words = own.tools;
  const [action = 'list', name, unexpected] = positionals;
  const extra = action === 'list' ? name : unexpected;
  if (extra !== undefined) throw usage(own.unexpected(extra));
  const folders = personsFolders(env);
  const workspace = () => workspaceAt(workspaceRoot(values.workspace), { folders });
  const servers = () => new ToolServerList(workspace(), folders.config);
  const about = { terminal, words, own, json: values.json };
  switch (action) {
    case 'list':
      return listServers(await servers().list(), folders.config, about);
    case 'allow':
      if (name === undefined) throw usage(words.which);
      return allowServer(servers(), name, values.digest, about);
    case 'forbid':
      if (name === undefined) throw usage(words.which);
      return forbidServer(servers(), name, about);
    case 'new':
      return newTool({ ...about, name, folder: values.in, add: values.add, config: folders.config, servers });
    default:
      throw usage(own.noCommand(`tools ${action}`));
  }
}
