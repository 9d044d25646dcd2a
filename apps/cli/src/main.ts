import { ApiError } from '@countersign/client';
import { CountersignError, describeError, makeVisible } from '@countersign/protocol';
import manifest from '../package.json' with { type: 'json' };
import type { CommandContext } from './command-context.ts';
import { fitHelp } from './screen/help-text.ts';
import { processTerminal, type Terminal } from './terminal.ts';
import { isSpoken, wordsFor } from './words.ts';

const help = `countersign: an AI agent uses tools on your machine, and you countersign what it does

  countersign up [DIR]                everything at once: server, runner and web page; a sample without DIR

  countersign sign-in                 lets this terminal speak for you, with the link the server prints
  countersign connect [DIR]           the runner of a workspace; approvals are asked in this terminal
  countersign chat [MESSAGE]          talk to the agent and see what it does
  countersign approvals               what waits for your decision
  countersign history                 what was called, decided and done
  countersign undo TOOL_ID            restores what a call changed
  countersign tools                   your own tools: what there is, allow, make one
  countersign doctor                  what this machine has, what is missing, and how to get it

  countersign mcp [DIR]               your tools for an MCP agent, over standard input and output
  countersign acp                     this agent for an ACP editor, over standard input and output
  countersign tokens                  what other programs use to reach your tools

  countersign policy explain TOOL …   what would be decided about one call, and why
  countersign policy check            the same for many calls, as JSON Lines
  countersign policy try              type calls and see the decisions; nothing is executed
  countersign policy backtest FILE    what a new rule would have decided on your recorded calls

  countersign audit verify            whether the log of decisions is whole
  countersign audit export            the log, as JSON Lines or CSV

  countersign serve                   the server alone; runners and front ends connect to it

  countersign COMMAND --help          more about one of them
`;

/** Runs one command line and answers with its exit status: 0 done, 2 the input was wrong, 1 we failed. */
export async function main(
  argv: readonly string[],
  given: Terminal = processTerminal(),
  env: CommandContext['env'] = process.env,
): Promise<number> {
  const [command, ...rest] = argv;
  const terminal = isAboutHelp(argv) ? withFittingHelp(given) : given;
  const words: CommandContext['words'] = (asked) => {
    if (asked !== undefined && !isSpoken(asked)) {
      const problem = `"${asked}" is not a language of ours: there are en and ru`;
      throw new CountersignError('USAGE', { problem, help: `countersign ${command} --help` });
    }
    return wordsFor(env, asked);
  };
  const context: CommandContext = { terminal, env, words };
  try {
    // Each command is loaded when it is used: the others need not wait for it.
    switch (command) {
      case 'acp':
        return await (await import('./acp/acp-command.ts')).acpCommand(rest, context);
      case 'approvals':
        return await (await import('./approvals/approvals-command.ts')).approvalsCommand(rest, context);
      case 'audit':
        return await (await import('./audit-command.ts')).auditCommand(rest, context);
      case 'chat':
        return await (await import('./chat/chat-command.ts')).chatCommand(rest, context);
      case 'connect':
        return await (await import('./connect/connect-command.ts')).connectCommand(rest, context);
      case 'doctor':
        return await (await import('./doctor/doctor-command.ts')).doctorCommand(rest, context);
      case 'history':
        return await (await import('./history-command.ts')).historyCommand(rest, context);
      case 'mcp':
        return await (await import('./mcp/mcp-command.ts')).mcpCommand(rest, context);
      case 'policy':
        return await (await import('./policy-command.ts')).policyCommand(rest, context);
      case 'serve':
        return await (await import('./serve-command.ts')).serveCommand(rest);
      case 'sign-in':
        return await (await import('./server/sign-in-command.ts')).signInCommand(rest, context);
      case 'sign-out':
        return await (await import('./server/sign-in-command.ts')).signOutCommand(rest, context);
      case 'tokens':
        return await (await import('./tokens/tokens-command.ts')).tokensCommand(rest, context);
      case 'tools':
        return await (await import('./tools/tools-command.ts')).toolsCommand(rest, context);
      case 'undo':
        return await (await import('./undo-command.ts')).undoCommand(rest, context);
      case 'up':
        return await (await import('./up-command.ts')).upCommand(rest, context);
      case undefined:
      case 'help':
      case '--help':
      case '-h':
        await terminal.write(help);
        return 0;
      case '--version':
        await terminal.write(`${manifest.version}\n`);
        return 0;
      default:
        throw new CountersignError('USAGE', {
          problem: `There is no command "${command}"`,
          help: 'countersign --help',
        });
    }
  } catch (error) {
    return reportFailure(error, terminal, command);
  }
}

const isAboutHelp = ([command, ...rest]: readonly string[]): boolean =>
  command === undefined || [command, ...rest].some((word) => ['help', '--help', '-h'].includes(word));

function withFittingHelp(terminal: Terminal): Terminal {
  const { screen } = terminal;
  return screen ? { ...terminal, write: (text) => terminal.write(fitHelp(text, screen.columns)) } : terminal;
}

/** One line that says what happened and what to do next; a stack trace only when DEBUG asks for it. */
function reportFailure(error: unknown, terminal: Terminal, command: string | undefined): number {
  if (isClosedPipe(error)) return 0;
  if (error instanceof CountersignError) {
    terminal.writeError(`error: ${makeVisible(error.message)} [${error.code}]\n`);
    return 2;
  }
  if (error instanceof ApiError) {
    terminal.writeError(`error: ${makeVisible(error.message)} [${error.code}]\n`);
    return 1;
  }
  if (isArgumentError(error)) {
    const help = `countersign ${command} --help`;
    const { message } = describeError('USAGE', { problem: usageProblem(error), help });
    terminal.writeError(`error: ${makeVisible(message)} [USAGE]\n`);
    return 2;
  }
  const text = error instanceof Error ? error.message : String(error);
  terminal.writeError(`error: ${makeVisible(text)} [INTERNAL]\n`);
  if (process.env.DEBUG && error instanceof Error) terminal.writeError(`${error.stack}\n`);
  return 1;
}

/** The reader of our output went away (`| head`): nothing is wrong. */
const isClosedPipe = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException | undefined)?.code === 'EPIPE';

/** What `parseArgs` throws for an unknown or incomplete option. */
const isArgumentError = (error: unknown): boolean =>
  String((error as NodeJS.ErrnoException | undefined)?.code).startsWith('ERR_PARSE_ARGS');

const usageProblem = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('. ')[0] ?? message;
};
