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
  /** Paths outside the workspace that the server must be able to read. */
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
 * How to tell that a server has loaded its project, so that its answers are complete. `at-once`: it loads before it
 * answers. `logLine`: it logs this line after each load. `quiet`: it sends no messages and gives the same answer twice.
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

// Resolves our own dependencies: a server that the workspace has installed is never started.
const ownRequire = createRequire(import.meta.url);

function defineTypeScript(): ServerDefinition {
  // Start the native program itself; the package's `tsc` is a script that looks for it.
  const folder = dirname(ownRequire.resolve('typescript/package.json'));
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
  const program = ownRequire.resolve('pyright/langserver.index.js');
  return {
    language: 'python',
    extensions: ['.py', '.pyi'],
    command: process.execPath,
    args: [program, '--stdio'],
    readable: [dirname(program), process.execPath],
    settings: { python: { analysis: { diagnosticMode: 'openFilesOnly' } }, pyright: {} },
    projectFiles: /(^|\/)(pyrightconfig\.json|pyproject\.toml)$/,
    // It answers the first requests before it has listed the project's files.
    loading: { logLine: /^(Found \d+ source files?|No source files found)/ },
  };
}

export const defaultWaits = {
  /** The longest wait for one answer. */
  requestMs: 30_000,
  /** The longest wait for the first answer, because the server reads the project first. */
  firstRequestMs: 120_000,
  /** A server that was not used for this long is stopped. */
  idleMs: 300_000,
  /** The longest wait for a project to load the first time; after that, answers are taken as they are. */
  firstLoadMs: 20_000,
  /** The longest wait for a reload after files were added or removed; some servers do not report that they reload. */
  reloadMs: 3_000,
  /** A server that sent nothing for this long, and announced no work, has loaded its project. */
  quietMs: 250,
  /** How long to wait for a second publication of diagnostics: many servers publish syntax first, types later. */
  settleMs: 250,
  /** How long published diagnostics may take to change after another file has changed. */
  updateMs: 1_000,
  /** The longest wait for a server to end after `shutdown`. */
  shutdownMs: 2_000,
};

/** How long we wait for a server, in milliseconds. */
export type WaitTimes = Readonly<typeof defaultWaits>;
