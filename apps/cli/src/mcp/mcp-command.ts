import { parseArgs } from 'node:util';
import { MadeToken } from '@countersign/runner-client';
import type { Transport } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { type CommandContext, commandOptions, usageOf } from '../command-context.ts';
import { findProject, workspaceRoot } from '../server/workspace-project.ts';
import { accessForWorkspace } from '../server/workspace-server.ts';
import { McpBridge } from './mcp-bridge.ts';

const usage = usageOf('mcp');

/** Where the program on the other side is. */
export interface Wire {
  readonly transport: Transport;
  /** Resolves when it has gone, or when we are to go. */
  readonly ended: Promise<void>;
}

/** `countersign mcp [DIR]` (UI-5). Standard output is the protocol's. */
export async function mcpCommand(
  argv: readonly string[],
  context: CommandContext,
  wire: () => Wire = standardStreams,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      ...commandOptions,
      server: { type: 'string' },
      project: { type: 'string' },
      name: { type: 'string', default: 'MCP agent' },
    },
  });
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(words.help.mcp).then(() => 0);
  if (positionals[1] !== undefined) throw usage(words.unexpected(positionals[1]));
  const root = workspaceRoot(positionals[0]);
  const access = await accessForWorkspace(values.server, root, words, env);
  const project = await findProject(
    access.client,
    { root, projectId: values.project, inside: true },
    words,
    usage,
  );
  if (!project) throw usage(words.server.noProject(root));
  const { name } = values;
  const token = new MadeToken(access, { name, scope: 'agent', project_id: project.project_id });
  await token.client.connection.token(); // a name that cannot be is said here, not to the agent
  const bridge = new McpBridge({ address: access.address, token: token.client.connection.token });
  const { transport, ended } = wire();
  const handle = serveStdio((about) => bridge.newServer(about), {
    transport,
    onerror: (error) => terminal.writeError(`countersign mcp: ${error.message}\n`),
  });
  await ended;
  await handle.close();
  await bridge.close();
  await token.revoke();
  return 0;
}

const standardStreams = (): Wire => ({
  transport: new StdioServerTransport(),
  ended: new Promise((resolve) => {
    process.stdin.once('close', resolve).once('end', resolve);
    process.once('SIGINT', resolve).once('SIGTERM', resolve);
  }),
});
