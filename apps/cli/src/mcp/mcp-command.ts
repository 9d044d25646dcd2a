import { CountersignError } from '@countersign/protocol';
import type { Transport } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { type CommandContext, usageOf } from '../command-context.ts';
import { helpText, readOptions } from '../command-options.ts';
import { workspaceRoot } from '../sign-in/workspace-project.ts';
import { AgentAccess } from './agent-access.ts';
import { McpBridge } from './mcp-bridge.ts';

const usage = usageOf('mcp');

/** The connection to the program on the other side. */
export interface Wire {
  readonly transport: Transport;
  /** Resolves when the program has gone, or when we must end. */
  readonly ended: Promise<void>;
}

/** `countersign mcp [DIR]` (UI-5). Standard output carries the protocol only. */
export async function mcpCommand(
  argv: readonly string[],
  context: CommandContext,
  wire: () => Wire = standardStreams,
): Promise<number> {
  const { values, positionals } = readOptions('mcp', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('mcp', words)).then(() => 0);
  if (positionals[1] !== undefined) throw usage(words.unexpected(positionals[1]));
  const root = workspaceRoot(positionals[0]);
  const { server, project, name } = values;
  const access = new AgentAccess({ server, projectId: project, root, name, words, env });
  try {
    await access.reach();
  } catch (error) {
    if (!(error instanceof CountersignError) || error.code !== 'UP_NOT_RUNNING') throw error;
    // The program may run for hours before `up` is started. Until then, each call fails with this message.
    terminal.writeError(`countersign mcp: ${words.said(error)}\n`);
  }
  const bridge = new McpBridge({ reach: () => access.reach() });
  const { transport, ended } = wire();
  const handle = serveStdio((about) => bridge.newServer(about), {
    transport,
    onerror: (error) => terminal.writeError(`countersign mcp: ${error.message}\n`),
  });
  await ended;
  await handle.close();
  await bridge.close();
  await access.revoke();
  return 0;
}

const standardStreams = (): Wire => ({
  transport: new StdioServerTransport(),
  ended: new Promise((resolve) => {
    process.stdin.once('close', resolve).once('end', resolve);
    process.once('SIGINT', resolve).once('SIGTERM', resolve);
  }),
});
