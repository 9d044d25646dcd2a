import { ApiError } from '@countersign/client';
import { CountersignError, describeError, makeVisible } from '@countersign/protocol';
import manifest from '../package.json' with { type: 'json' };
import { askedLanguage, type CommandContext, usageProblem } from './command-context.ts';
import { fitHelp } from './screen/help-text.ts';
import { processTerminal, type Terminal } from './terminal.ts';
import { isSpoken, type Words, wordsFor } from './words.ts';

/** Runs one command line. Returns the exit status: 0 done, 2 wrong input, 1 failure. */
export async function main(
  argv: readonly string[],
  given: Terminal = processTerminal(),
  env: CommandContext['env'] = process.env,
): Promise<number> {
  const [command, ...rest] = argv;
  const terminal = isAboutHelp(argv) ? withFittingHelp(given) : given;
  const words: CommandContext['words'] = (asked) => {
    if (asked !== undefined && !isSpoken(asked)) {
      const problem = wordsFor(env).noLanguage(asked);
      throw new CountersignError('USAGE', { problem, help: `countersign ${command} --help` });
    }
    return wordsFor(env, asked);
  };
  const context: CommandContext = { terminal, env, words };
  try {
    // Load only the command that is used, for a quick start.
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
        return await (await import('./serve-command.ts')).serveCommand(rest, context);
      case 'sign-in':
        return await (await import('./sign-in/sign-in-command.ts')).signInCommand(rest, context);
      case 'sign-out':
        return await (await import('./sign-in/sign-in-command.ts')).signOutCommand(rest, context);
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
        await terminal.write(words(askedLanguage(rest)).help.main);
        return 0;
      case '--version':
        await terminal.write(`${manifest.version}\n`);
        return 0;
      default:
        throw new CountersignError('USAGE', {
          problem: wordsFor(env).noCommand(`countersign ${command}`),
          help: 'countersign --help',
        });
    }
  } catch (error) {
    return reportFailure(error, terminal, command, wordsToFailWith(rest, env));
  }
}

const isAboutHelp = ([command, ...rest]: readonly string[]): boolean =>
  command === undefined || [command, ...rest].some((word) => ['help', '--help', '-h'].includes(word));

function withFittingHelp(terminal: Terminal): Terminal {
  const { screen } = terminal;
  return screen ? { ...terminal, write: (text) => terminal.write(fitHelp(text, screen.columns)) } : terminal;
}

/** Words for an error. `--lang` itself may be the error. */
function wordsToFailWith(argv: readonly string[], env: CommandContext['env']): Words {
  const asked = askedLanguage(argv);
  return wordsFor(env, asked !== undefined && isSpoken(asked) ? asked : undefined);
}

/** One line that says what happened and what to do next; a stack trace only when DEBUG asks for it. */
function reportFailure(
  error: unknown,
  terminal: Terminal,
  command: string | undefined,
  words: Words,
): number {
  if (isClosedPipe(error)) return 0;
  const say = (message: string, code: string) =>
    terminal.writeError(`${words.error}: ${makeVisible(words.said(message))} [${code}]\n`);
  if (error instanceof CountersignError) {
    say(error.message, error.code);
    return 2;
  }
  if (error instanceof ApiError) {
    say(error.message, error.code);
    return 1;
  }
  const problem = usageProblem(error, words);
  if (problem !== undefined) {
    const { message, code } = describeError('USAGE', { problem, help: `countersign ${command} --help` });
    say(message, code);
    return 2;
  }
  say(error instanceof Error ? error.message : String(error), 'INTERNAL');
  if (process.env.DEBUG && error instanceof Error) terminal.writeError(`${error.stack}\n`);
  return 1;
}

/** The reader of our output has closed it (`| head`), which is not an error. */
const isClosedPipe = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException | undefined)?.code === 'EPIPE';
