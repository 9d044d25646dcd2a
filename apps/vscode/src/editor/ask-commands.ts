import {
  CodeAction,
  CodeActionKind,
  type Diagnostic,
  type Disposable,
  languages,
  type Range,
  Uri,
  window,
} from 'vscode';
import { type Lines, mentionOf } from '../chat/mention.ts';
import { problemText } from '../chat/problem-text.ts';
import type { Words } from '../words.ts';
import { selectedLines, type WorkspaceFile, workspaceFile } from './workspace-files.ts';

/** Text for the chat's message field, about a file of one folder. */
export interface Question {
  readonly folder: string;
  readonly text: string;
  /** Send it at once, if nothing else stands in the field. */
  readonly send: boolean;
}

export interface AskCommandsOptions {
  readonly words: Words;
  readonly isSignedIn: () => boolean;
  readonly compose: (question: Question) => void;
}

/** What a command is about: a file, its lines if some are meant, and the problems there. */
interface Subject {
  readonly file: WorkspaceFile;
  readonly lines: Lines | undefined;
  readonly problems: readonly Diagnostic[];
}

/** "Ask Countersign About This" and "Fix with Countersign", for a selection, a file and a problem. */
export class AskCommands {
  readonly #options: AskCommandsOptions;

  constructor(options: AskCommandsOptions) {
    this.#options = options;
  }

  /** Offers both as code actions of problems: in the lightbulb, and in the menu of the Problems view. */
  register(): Disposable {
    const { words, isSignedIn } = this.#options;
    return languages.registerCodeActionsProvider(
      { scheme: 'file' },
      {
        provideCodeActions: (document, _range, { diagnostics }) => {
          if (!isSignedIn() || diagnostics.length === 0 || !workspaceFile(document.uri)) return [];
          return [
            actionOf(words.ask.fix, 'countersign.fix', document.uri, diagnostics),
            actionOf(words.ask.about, 'countersign.ask', document.uri, diagnostics),
          ];
        },
      },
      { providedCodeActionKinds: [CodeActionKind.QuickFix] },
    );
  }

  /** Puts a mention into the message field, where the person writes the question. */
  ask(uri: unknown, problems?: unknown): void {
    const subject = this.#subject(uri, problems);
    if (!subject) return;
    const { file, lines, problems: found } = subject;
    const about = problems === undefined ? '' : found.map((one) => `${problemText(one)} `).join('');
    this.#compose(file, `${mentionOf(file.path, lines)} ${about}`, { send: false });
  }

  /** Mentions whole files, chosen in the explorer or by their tab. */
  askAboutFile(uri: unknown, chosen?: unknown): void {
    const uris =
      Array.isArray(chosen) && chosen.length > 0 ? chosen : [uri ?? window.activeTextEditor?.document.uri];
    const files = uris.flatMap((one) => (one instanceof Uri ? (workspaceFile(one) ?? []) : []));
    const [first] = files;
    if (!first) {
      this.#refuse();
      return;
    }
    const mentions = files.filter(({ folder }) => folder === first.folder).map(({ path }) => mentionOf(path));
    this.#compose(first, `${mentions.join(' ')} `, { send: false });
  }

  /** Sends a request to fix the given problems, or the problems of the selection or file. */
  fix(uri: unknown, problems?: unknown): void {
    const subject = this.#subject(uri, problems);
    if (!subject) return;
    const { file, lines, problems: found } = subject;
    const { fixThis, fixProblems } = this.#options.words.ask;
    const mention = mentionOf(file.path, lines);
    const text =
      found.length === 0
        ? fixThis(mention)
        : `${fixProblems(mention, found.length)}\n${found.map((one) => `- ${problemText(one)}`).join('\n')}`;
    this.#compose(file, text, { send: true });
  }

  #subject(uri: unknown, given: unknown): Subject | undefined {
    const editor = window.activeTextEditor;
    const at = uri instanceof Uri ? uri : editor?.document.uri;
    const file = at && workspaceFile(at);
    if (!file) {
      this.#refuse();
      return undefined;
    }
    if (isProblems(given)) return { file, lines: linesOf(given), problems: given };
    const isActive = editor && String(editor.document.uri) === String(at);
    const lines = isActive ? selectedLines(editor) : undefined;
    const here = languages
      .getDiagnostics(at)
      .filter(({ range }) => !lines || (range.start.line < lines.to && range.end.line >= lines.from - 1));
    return { file, lines, problems: here.slice(0, maxProblems) };
  }

  #compose({ folder }: WorkspaceFile, text: string, { send }: { readonly send: boolean }): void {
    this.#options.compose({ folder, text, send });
  }

  #refuse(): void {
    void window.showInformationMessage(this.#options.words.ask.notInWorkspace);
  }
}

/** More problems than this do not make a better question. */
const maxProblems = 20;

const isProblems = (given: unknown): given is readonly Diagnostic[] =>
  Array.isArray(given) &&
  given.length > 0 &&
  given.every((one) => typeof one?.message === 'string' && one.range);

function linesOf(problems: readonly { readonly range: Range }[]): Lines {
  return {
    from: Math.min(...problems.map(({ range }) => range.start.line)) + 1,
    to: Math.max(...problems.map(({ range }) => range.end.line)) + 1,
  };
}

function actionOf(title: string, command: string, uri: Uri, problems: readonly Diagnostic[]): CodeAction {
  const action = new CodeAction(title, CodeActionKind.QuickFix);
  action.command = { command, title, arguments: [uri, problems] };
  action.diagnostics = [...problems];
  return action;
}
