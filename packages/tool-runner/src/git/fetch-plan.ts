import { isBranchName, isRemoteName } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { versionOf } from '../files/file-snapshot.ts';
import { readHead } from './commit-plan.ts';
import { latin1, utf8 } from './config-text.ts';
import type { GitRepository, OpenedRepository } from './git-repository.ts';
import type { NetworkAddress } from './remote-address.ts';
import { addressOfRemote } from './remote-url.ts';
import { lastValue } from './repository-settings.ts';

/** A `git fetch` or `git pull` that the person's own git does the network part of (RN-6). */
export interface FetchPlan {
  readonly git: OpenedRepository;
  readonly remote: string;
  readonly address: NetworkAddress;
  /** The address in the repository's own configuration, under which git prints and records the remote. */
  readonly named: string;
  /** What to fetch from the remote: full names of refs, or patterns of them. */
  readonly sources: readonly string[];
  readonly tags: 'follow' | 'none' | 'all';
  /** Goes into the digest of the approval. */
  readonly base: readonly string[];
}

/** Options that only affect this side of a fetch. Calls with any other option are left to git in isolation. */
const plainOptions =
  /^(-q|--quiet|-v|--verbose|-p|--prune|--progress|--dry-run|-t|--tags|--no-tags|--no-rebase|--rebase(=(true|false|merges))?|-r|--ff|--no-ff|--ff-only|--no-edit|--autostash|--no-autostash|--stat|--no-stat)$/;

/**
 * Plans a call of `git fetch` or `git pull` by its words. Undefined for any other call, and for one that is left to git in
 * isolation: other options, an address instead of a remote's name, a remote in a folder, a partial clone.
 */
export async function planFetch(
  repository: GitRepository,
  [program, subcommand, ...words]: readonly string[],
  signal?: AbortSignal,
): Promise<FetchPlan | undefined> {
  if (program !== 'git' || (subcommand !== 'fetch' && subcommand !== 'pull')) return undefined;
  const options = words.filter((word) => word.startsWith('-'));
  const [named, ...given] = words.filter((word) => !word.startsWith('-'));
  if (!options.every((word) => plainOptions.test(word))) return undefined;
  try {
    const git = await repository.open(signal);
    if (isPartial(git)) return undefined;
    const remote = named ?? (await defaultRemote(git));
    if (!isRemoteName(remote)) return undefined;
    const { root } = repository.workspace;
    const address = await addressOfRemote(
      { git, persons: repository.persons, root, signal },
      remote,
      'fetch',
    );
    const refspecs = given.length > 0 ? given : valuesOf(git, remote, 'fetch');
    const read = refspecs.map(sourceOf);
    if (address.kind !== 'network' || read.length === 0 || read.includes(undefined)) return undefined;
    const tagOptions = [...valuesOf(git, remote, 'tagopt'), ...options];
    const tags = tagOptions.includes('--no-tags')
      ? 'none'
      : tagOptions.some((word) => word === '-t' || word === '--tags')
        ? 'all'
        : 'follow';
    const sources = [...new Set(read as readonly string[]), ...(tags === 'all' ? ['refs/tags/*'] : [])];
    // The URL may contain a password: include only its digest.
    const base = [`fetches ${versionOf(Buffer.from(address.url))}`, ...sources];
    const [configured = address.url] = valuesOf(git, remote, 'url');
    return { git, remote, address, named: configured, sources, tags, base };
  } catch (error) {
    // Git in isolation says what is wrong with the call, or with the repository.
    if (error instanceof CountersignError) return undefined;
    throw error;
  }
}

const isPartial = ({ own }: OpenedRepository): boolean =>
  own.some(
    ({ section, name }) =>
      (section === 'extensions' && name === 'partialclone') || (section === 'remote' && name === 'promisor'),
  );

const valuesOf = ({ own }: OpenedRepository, remote: string, key: string): string[] =>
  own
    .filter(({ section, subsection, name }) => section === 'remote' && subsection === remote && name === key)
    .map(({ value }) => utf8(value));

async function defaultRemote(git: OpenedRepository): Promise<string> {
  const { branch } = await readHead(git);
  const own = branch === null ? undefined : lastValue(git.own, `branch.${latin1(branch)}.remote`);
  return own === undefined ? 'origin' : utf8(own);
}

/** What a refspec takes from the remote. Undefined for a refspec that is too special to parse here. */
function sourceOf(refspec: string): string | undefined {
  const [source = ''] = refspec.replace(/^\+/, '').split(':');
  const plain = source.replace(/\*/, 'x');
  if (source === 'HEAD' || source === 'tag' || /^[0-9a-f]{40,64}$/.test(source) || !isBranchName(plain))
    return undefined;
  if (source.startsWith('refs/')) return source;
  return source.includes('*') ? undefined : `refs/heads/${source}`;
}
