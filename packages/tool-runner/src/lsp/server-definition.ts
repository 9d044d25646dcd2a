import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { CountersignError, type JsonValue } from '@countersign/protocol';

/** A language server that the person configured. A workspace never configures one (RN-7). */
export interface ConfiguredServer {
  readonly language: string;
  /** With the dot: `.rs`. */
  readonly extensions: readonly string[];
  /** Absolute, or a bare name that is found on the fixed PATH. */
  readonly command: string;
  readonly args: readonly string[];
  readonly initializationOptions?: JsonValue;
  /** What the server gets when it asks for its configuration, by section. */
  readonly settings?: Readonly<Record<string, JsonValue>>;
  /** Folders beside the workspace that it must read. */
  readonly readable?: readonly string[];
}

/** How one server is started and how its messages are understood. */
export interface ServerDefinition extends ConfiguredServer {
  /** The protocol's language id by extension, if the files of one server have several. */
  readonly languageIds?: Readonly<Record<string, string>>;
  readonly loading: LoadingSign;
  /** Files besides its sources that make it load the project again when they change. */
  readonly projectFiles?: RegExp;
}

/**
 * When a server's answers are complete: at once, because it loads the project before it answers; after it has logged a
 * certain line, each time the set of files has changed; or when it has become quiet and gives the same answer twice.
 */
export type LoadingSign = 'at-once' | 'quiet' | { readonly logLine: RegExp };

/** The person's own server for a file, or ours. Throws NO_LANGUAGE_SERVER. */
export function findServer(path: string, configured: readonly ConfiguredServer[]): ServerDefinition {
  const extension = extname(path).toLowerCase();
  const own = configured.find(({ extensions }) => extensions.includes(extension));
  if (own) return { ...own, loading: 'quiet' };
  const builtIn = builtInServers.find(({ extensions }) => extensions.includes(extension));
  if (!builtIn) throw new CountersignError('NO_LANGUAGE_SERVER', { language: extension || 'such' });
  return builtIn.define();
}

const typeScriptIds = {
  '.ts': 'typescript',
  '.mts': 'typescript',
  '.cts': 'typescript',
  '.tsx': 'typescriptreact',
  '.js': 'javascript',
  '.mjs': 'javascript',
  '.cjs': 'javascript',
  '.jsx': 'javascriptreact',
};

const builtInServers = [
  { extensions: Object.keys(typeScriptIds), define: defineTypeScript },
  { extensions: ['.py', '.pyi'], define: definePython },
];

// Resolves our own packages: what a workspace has installed is never started.
const ours = createRequire(import.meta.url);

function defineTypeScript(): ServerDefinition {
  // The native program itself: the package's `tsc` is a script that would only look for it.
  const folder = dirname(ours.resolve('typescript/package.json'));
  const platform = `@typescript/typescript-${process.platform}-${process.arch}`;
  const folderOfNative = dirname(
    createRequire(join(folder, 'package.json')).resolve(`${platform}/package.json`),
  );
  return {
    language: 'typescript',
    extensions: Object.keys(typeScriptIds),
    languageIds: typeScriptIds,
    command: join(folderOfNative, 'lib', process.platform === 'win32' ? 'tsc.exe' : 'tsc'),
    args: ['--lsp', '--stdio'],
    readable: [folderOfNative],
    // Otherwise it runs npm to fetch types; there is no network.
    initializationOptions: { disableAutomaticTypeAcquisition: true },
    settings: {
      typescript: { disableAutomaticTypeAcquisition: true },
      javascript: { disableAutomaticTypeAcquisition: true },
    },
    loading: 'at-once',
  };
}

function definePython(): ServerDefinition {
  const program = ours.resolve('pyright/langserver.index.js');
  return {
    language: 'python',
    extensions: ['.py', '.pyi'],
    command: process.execPath,
    args: [program, '--stdio'],
    readable: [dirname(program), process.execPath],
    settings: { python: { analysis: { diagnosticMode: 'openFilesOnly' } }, pyright: {} },
    projectFiles: /(^|\/)(pyrightconfig\.json|pyproject\.toml)$/,
    // It lists the project's files some time after it has answered the first requests.
    loading: { logLine: /^(Found \d+ source files?|No source files found)/ },
  };
}

/** How long we wait for a server, in milliseconds. */
export interface WaitTimes {
  /** For one answer. */
  readonly requestMs: number;
  /** For the first answers: a large project is read before. */
  readonly firstRequestMs: number;
  /** A server that was not used for this long is stopped. */
  readonly idleMs: number;
  /** For a project to load the first time; after that, answers are taken as they are. */
  readonly firstLoadMs: number;
  /** The same after files were added or removed; some servers do not report that they reload. */
  readonly reloadMs: number;
  /** A server that sent nothing for this long, and announced no work, has loaded its project. */
  readonly quietMs: number;
  /** A server that publishes diagnostics often does so twice: syntax first, types later. */
  readonly settleMs: number;
  /** How long a change of another file may take to show in published diagnostics; after that, nothing changed. */
  readonly doubtMs: number;
  /** For a server to end after `shutdown`. */
  readonly shutdownMs: number;
}

export const defaultWaits: WaitTimes = {
  requestMs: 30_000,
  firstRequestMs: 120_000,
  idleMs: 300_000,
  firstLoadMs: 20_000,
  reloadMs: 3_000,
  quietMs: 250,
  settleMs: 250,
  doubtMs: 1_000,
  shutdownMs: 2_000,
};
