import {
  commands,
  type Disposable,
  ProgressLocation,
  type Terminal,
  TerminalLink,
  window,
  workspace,
} from 'vscode';
import type { Words } from '../words.ts';
import { deliberateAnswer } from './deliberate-answer.ts';
import { completeStep } from './walkthrough.ts';

export interface LocalServerOptions {
  readonly words: Words;
  readonly signIn: (link: string) => Promise<void>;
  /** Asks the person to paste the link. Used if the terminal cannot be read. */
  readonly askForLink: (prompt: string, signal: AbortSignal) => Promise<void>;
}

const shellIntegrationMs = 4_000;
const linkMs = 60_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences for colours and titles
const terminalCodes = /\u001b(\[[0-9;?]*[A-Za-z]|\][^\u0007\u001b]*(\u0007|\u001b\\))/g;
const linkPattern = /https?:\/\/[^\s#]+\/?#sign-in=[A-Za-z0-9_-]{16,200}/;

/**
 * Starts the person's own server in a terminal of the editor and signs in with the link that the server prints. If the
 * editor cannot read its terminal, the person clicks or pastes the link.
 */
export class LocalServer implements Disposable {
  readonly #options: LocalServerOptions;
  readonly #links: Disposable;
  #terminal: Terminal | undefined;

  constructor(options: LocalServerOptions) {
    this.#options = options;
    const { words } = options;
    this.#links = window.registerTerminalLinkProvider({
      provideTerminalLinks: ({ line }) => {
        const found = linkPattern.exec(line);
        if (!found) return [];
        const link = new TerminalLink(found.index, found[0].length, words.localServer.linkInTerminal);
        return [Object.assign(link, { text: found[0] })];
      },
      handleTerminalLink: (link) => this.#followLink((link as TerminalLink & { text: string }).text),
    });
  }

  dispose(): void {
    this.#links.dispose();
  }

  /** Asks before signing in: any program can print a link, and its server could then request calls on this machine. */
  async #followLink(link: string): Promise<void> {
    const { words, signIn } = this.#options;
    const { linkQuestion, linkDetail } = words.localServer;
    const yes = words.signIn.again;
    const answer = await deliberateAnswer(linkQuestion(new URL(link).origin), linkDetail, yes);
    if (answer === yes) await signIn(link);
  }

  async #reportEnd(command: string): Promise<void> {
    const { ended, openSetting } = this.#options.words.localServer;
    if ((await window.showErrorMessage(ended(command), openSetting)) === openSetting)
      await commands.executeCommand('workbench.action.openSettings', 'countersign.localServer.command');
  }

  async start(): Promise<void> {
    const { words, signIn } = this.#options;
    const command = workspace.getConfiguration('countersign').get('localServer.command', 'countersign serve');
    this.#terminal?.dispose();
    const terminal = window.createTerminal({ name: words.localServer.terminal });
    this.#terminal = terminal;
    terminal.show(true);
    const output = new TerminalOutput(terminal);
    try {
      const read = await window.withProgress(
        { location: ProgressLocation.Notification, title: words.localServer.waiting, cancellable: true },
        (_progress, cancelled) =>
          Promise.race([
            runAndRead(terminal, command, output),
            new Promise<'cancelled'>((resolve) =>
              cancelled.onCancellationRequested(() => resolve('cancelled')),
            ),
          ]),
      );
      if (read === 'cancelled') return;
      const found = read ?? (await this.#askForLink(output));
      if (found === 'ended') return await this.#reportEnd(command);
      if (found === 'pasted') return;
      completeStep('hasServer');
      await signIn(found.link);
    } finally {
      output.dispose();
    }
  }

  /** Asks for the link. Closes the box if the editor can read its terminal after all, late on a busy machine. */
  async #askForLink(output: TerminalOutput): Promise<ServerStart | 'pasted'> {
    const { words, askForLink } = this.#options;
    const box = new AbortController();
    const pasted = askForLink(words.localServer.pasteIt, box.signal).then(() => 'pasted' as const);
    const first = await Promise.race([pasted, output.start]);
    box.abort();
    return first;
  }
}

type ServerStart = { readonly link: string } | 'ended';

/** Runs the command and returns its link; undefined if the terminal cannot be read or no link came in time. */
async function runAndRead(
  terminal: Terminal,
  command: string,
  output: TerminalOutput,
): Promise<ServerStart | undefined> {
  const shell = await shellOf(terminal);
  if (!shell) {
    terminal.sendText(command);
    return undefined;
  }
  shell.executeCommand(command);
  return Promise.race([
    output.start,
    new Promise<undefined>((resolve) => setTimeout(resolve, linkMs, undefined)),
  ]);
}

/** Reads the link that a command prints. The editor can read a terminal only after shell integration has started. */
class TerminalOutput implements Disposable {
  /** Never settles if the terminal cannot be read. */
  readonly start: Promise<ServerStart>;
  readonly #listening: Disposable;

  constructor(terminal: Terminal) {
    const { promise, resolve } = Promise.withResolvers<ServerStart>();
    this.start = promise;
    this.#listening = window.onDidStartTerminalShellExecution(({ terminal: its, execution }) => {
      if (its === terminal) void readServerStart(execution.read()).then(resolve);
    });
  }

  dispose(): void {
    this.#listening.dispose();
  }
}

async function readServerStart(printed: AsyncIterable<string>): Promise<ServerStart> {
  let text = '';
  for await (const piece of printed) {
    text = (text + piece).replaceAll(terminalCodes, '').slice(-20_000);
    const found = linkPattern.exec(text);
    // The link is complete only when more text follows.
    if (found && text.length > found.index + found[0].length) return { link: found[0] };
  }
  return 'ended';
}

function shellOf(terminal: Terminal): Promise<Terminal['shellIntegration']> {
  if (terminal.shellIntegration) return Promise.resolve(terminal.shellIntegration);
  return new Promise((resolve) => {
    const timer = setTimeout(() => end(undefined), shellIntegrationMs);
    const listening = window.onDidChangeTerminalShellIntegration(
      ({ terminal: changed, shellIntegration }) => {
        if (changed === terminal) end(shellIntegration);
      },
    );
    const end = (found: Terminal['shellIntegration']) => {
      clearTimeout(timer);
      listening.dispose();
      resolve(found);
    };
  });
}
