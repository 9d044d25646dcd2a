import { type NetworkAccess, readNetworkHost } from '@countersign/protocol';
import type { SimpleCommand } from './call-assessment.ts';
import { readGit } from './program/git/git-call.ts';
import { plainCommandWords } from './program/plain-words.ts';
import { readProgram } from './program/read-program.ts';

/** Where installers fetch packages. Which hosts that means, only the tool's own configuration says (docs/decisions/0030). */
export const packageSources = ['npm', 'pip', 'cargo', 'go', 'gem', 'maven'] as const;
export type PackageSource = (typeof packageSources)[number];

/** The network that a call needs: what it asks for, and what its words show. */
export interface NetworkNeeds {
  readonly anyHost: boolean;
  /** As `readNetworkHost` returns them. */
  readonly hosts: readonly string[];
  readonly sources: readonly PackageSource[];
  /** Names of remotes of the workspace's repository; `''` is the one that git chooses. */
  readonly remotes: readonly string[];
}

/** Which source each program uses where it needs network. */
const sourceOf: ReadonlyMap<string, PackageSource> = new Map([
  ...['npm', 'npx', 'pnpm', 'pnpx', 'yarn', 'bun', 'bunx'].map((name) => [name, 'npm'] as const),
  ...['pip', 'pip3', 'pipx', 'uv', 'uvx', 'poetry'].map((name) => [name, 'pip'] as const),
  ['cargo', 'cargo'],
  ['go', 'go'],
  ...['gem', 'bundle'].map((name) => [name, 'gem'] as const),
  ...['mvn', 'gradle'].map((name) => [name, 'maven'] as const),
]);

/** Reads the network needs of a call that gets network. `commands` are all commands of the call, as policy read them. */
export function networkNeeds(
  { params }: { readonly params: object },
  commands: readonly SimpleCommand[],
): NetworkNeeds {
  const asked = (params as { readonly network?: NetworkAccess | undefined }).network;
  const needing = commands.map(plainWords).filter(needsNetwork);
  const urls = needing.flatMap((words) => words.flatMap(hostsOfUrls));
  return {
    anyHost: asked === true,
    hosts: unique([...(Array.isArray(asked) ? (asked as readonly string[]) : []), ...urls]),
    sources: unique(needing.flatMap(([program = '', ...args]) => sourcesOf(program, args))),
    remotes: unique(commands.flatMap(({ words }) => remotesOf(words))),
  };
}

/** Whether a command names a host by URL, which may be another host than the one its program uses by default. */
export const namesHosts = (commands: readonly SimpleCommand[]): boolean =>
  networkNeeds({ params: {} }, commands).hosts.length > 0;

/** A word that is only known at run time is left out: it names no host now. */
const plainWords = ({ words }: SimpleCommand): readonly string[] => {
  const [program = '', ...args] = words.map((word) => word ?? '');
  return [program.slice(program.lastIndexOf('/') + 1), ...args];
};

function isPythonPip(program: string, args: readonly string[]): boolean {
  if (!/^python[\d.]*$/.test(program)) return false;
  const [, option, module] = plainCommandWords([program, ...args]);
  return option === '-m' && module === 'pip';
}

function needsNetwork([program = '', ...args]: readonly string[]): boolean {
  return isPythonPip(program, args) || readProgram([program, ...args]).network;
}

function sourcesOf(program: string, args: readonly string[]): readonly PackageSource[] {
  const source = isPythonPip(program, args) ? 'pip' : sourceOf.get(program);
  return source === undefined ? [] : [source];
}

/** The hosts of the URLs in a word: `https://a.example/x`, `git+https://a.example/x`, `--index-url=https://a.example/`. */
function hostsOfUrls(word: string): readonly string[] {
  return [...word.matchAll(/\bhttps?:\/\/(?:[^\s/?#@]*@)?([^\s/?#@'"\\]+)/gi)].flatMap(([, text = '']) => {
    const host = readNetworkHost(text);
    return host === undefined ? [] : [host];
  });
}

const remoteSubcommands = /^(fetch|pull|push|ls-remote|remote|submodule)$/;

/** The name of the remote that a git command talks to. If the command has a URL instead, its host is among `hosts`. */
function remotesOf(words: SimpleCommand['words']): readonly string[] {
  const [program, ...args] = words.map((word) => word ?? '');
  if (program !== 'git') return [];
  const { subcommand = '', args: rest, directories, settings, redirected } = readGit(args);
  // The command points git to another repository or address, so the remote is unknown. The network gate refuses its
  // host, and the result names it.
  if (!remoteSubcommands.test(subcommand) || directories.length > 0 || settings.length > 0 || redirected)
    return [];
  if (subcommand === 'remote' || subcommand === 'submodule') return [''];
  const named = rest.find((word) => !word.startsWith('-')) ?? '';
  return /[:/]/.test(named) ? [] : [named];
}

const unique = <T>(values: readonly T[]): readonly T[] => [...new Set(values)];
