import { ApiError } from '@countersign/client';
import { CountersignError, describeError, makeVisible, messageOf } from '@countersign/protocol';
import manifest from '../package.json' with { type: 'json' };
import { askedLanguage, type CommandContext, usageProblem } from './command-context.ts';
import { helpText } from './command-options.ts';
import { fitHelp } from './screen/help-text.ts';
import { processTerminal, type Terminal } from './terminal.ts';
import { isSupportedLanguage, type Words, wordsFor } from './words.ts';

/** Runs one command line. Returns the exit status: 0 done, 2 wrong input, 1 failure. */
export async function main(
  argv: readonly string[],
  given: Terminal = processTerminal(),
  env: CommandContext['env'] = process.env,
): Promise<number> {
  const [command, ...rest] = argv;
  const ours = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined);
  const terminal = command === undefined || ours.some(isHelpWord) ? withFittingHelp(given) : given;
  const words: CommandContext['words'] = (asked) => {
    if (asked !== undefined && !isSupportedLanguage(asked)) {
      const problem = wordsFor(env).noLanguage(asked);
      throw new CountersignError('USAGE', { problem, help: `countersign ${command} --help` });
    }
    return wordsFor(env, asked);
  };
  const context: CommandContext = { terminal, env, words };
  try {
    if (command === undefined || isHelpWord(command)) {
      await terminal.write(helpText('main', words(askedLanguage(rest))));
      return 0;
    }
    if (command === '--version') {
      await terminal.write(`${manifest.version}\n`);
      return 0;
    }
    const load = Object.hasOwn(commands, command) ? commands[command] : undefined;
    if (!load) {
      const problem = wordsFor(env).noCommand(`countersign ${command}`);
      throw new CountersignError('USAGE', { problem, help: 'countersign --help' });
    }
    return await (await load())(rest, context);
  } catch (error) {
    return reportFailure(error, terminal, command, wordsForError(rest, env));
  }
}

type Command = (argv: readonly string[], context: CommandContext) => Promise<number>;

/** Only the command that is used is loaded, for a quick start. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  acp: async () => (await import('./acp/acp-command.ts')).acpCommand,
  approvals: async () => (await import('./approvals/approvals-command.ts')).approvalsCommand,
  audit: async () => (await import('./audit-command.ts')).auditCommand,
  chat: async () => (await import('./chat/chat-command.ts')).chatCommand,
  connect: async () => (await import('./connect/connect-command.ts')).connectCommand,
  doctor: async () => (await import('./doctor/doctor-command.ts')).doctorCommand,
  history: async () => (await import('./history-command.ts')).historyCommand,
  mcp: async () => (await import('./mcp/mcp-command.ts')).mcpCommand,
  open: async () => (await import('./open/open-command.ts')).openCommand,
  policy: async () => (await import('./policy-command.ts')).policyCommand,
  serve: async () => (await import('./serve-command.ts')).serveCommand,
  'sign-in': async () => (await import('./sign-in/sign-in-command.ts')).signInCommand,
  'sign-out': async () => (await import('./sign-in/sign-in-command.ts')).signOutCommand,
  tokens: async () => (await import('./tokens/tokens-command.ts')).tokensCommand,
  tools: async () => (await import('./tools/tools-command.ts')).toolsCommand,
  try: async () => (await import('./try/try-command.ts')).tryCommand,
  undo: async () => (await import('./undo-command.ts')).undoCommand,
  up: async () => (await import('./up-command.ts')).upCommand,
};

const isHelpWord = (word: string): boolean => ['help', '--help', '-h'].includes(word);

function withFittingHelp(terminal: Terminal): Terminal {
  const { screen } = terminal;
  return screen ? { ...terminal, write: (text) => terminal.write(fitHelp(text, screen.columns)) } : terminal;
}

/** The language for an error message. A wrong `--lang` may be the error, so it is ignored. */
function wordsForError(argv: readonly string[], env: CommandContext['env']): Words {
  const asked = askedLanguage(argv);
  return wordsFor(env, asked !== undefined && isSupportedLanguage(asked) ? asked : undefined);
}

/** Prints one line that says what happened and what to do, and a stack trace if DEBUG is set. Returns the exit code. */
function reportFailure(
  error: unknown,
  terminal: Terminal,
  command: string | undefined,
  words: Words,
): number {
  if (isClosedPipe(error)) return 0;
  const say = (message: string, code: string) =>
    terminal.writeError(`${words.error}: ${makeVisible(words.said({ code, message }))} [${code}]\n`);
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
  say(messageOf(error), 'INTERNAL');
  if (process.env.DEBUG && error instanceof Error) terminal.writeError(`${error.stack}\n`);
  return 1;
}

/** True if the reader of our output has closed it (`| head`), which is not an error. */
const isClosedPipe = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException | undefined)?.code === 'EPIPE';
