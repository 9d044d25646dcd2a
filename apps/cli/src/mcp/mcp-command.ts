import { parseArgs } from 'node:util';
import { CountersignError } from '@countersign/protocol';
import type { Transport } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { type CommandContext, commandOptions, usageOf } from '../command-context.ts';
import { workspaceRoot } from '../sign-in/workspace-project.ts';
import { AgentAccess } from './agent-access.ts';
import { McpBridge } from './mcp-bridge.ts';

const usage = usageOf('mcp');

/** Where the program on the other side is. */
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
  const { server, project, name } = values;
  const access = new AgentAccess({ server, projectId: project, root, name, words, env });
  try {
    await access.reach();
  } catch (error) {
    if (!(error instanceof CountersignError) || error.code !== 'UP_NOT_RUNNING') throw error;
    // The program may run for hours before `up` is started: until then each call says what is missing.
    terminal.writeError(`countersign mcp: ${words.said(error.message)}\n`);
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
