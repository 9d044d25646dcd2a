import { latin1, setting } from './config-text.ts';
import { gitCannot } from './git-failure.ts';
import type { OpenedRepository } from './git-repository.ts';
import type { PersonsGit } from './persons-git.ts';
import { type RemoteAddress, readRemoteAddress } from './remote-address.ts';
import { unsafe } from './repository-layout.ts';

/** The name under which our own repository knows the address. */
const ownName = 'countersign';

/**
 * The address of a configured remote: the one that the card shows, and the only one that is used. The repository may
 * only name it: its own rewrites (`insteadOf`, `pushInsteadOf`) do not count. The person's rewrites do, because the
 * person's own git uses the address. Throws GIT_FAILED or REPOSITORY_UNSAFE.
 */
export async function addressOfRemote(
  {
    git,
    persons,
    root,
    signal,
  }: {
    readonly git: Pick<OpenedRepository, 'own'>;
    readonly persons: PersonsGit;
    readonly root: string;
    readonly signal?: AbortSignal | undefined;
  },
  remote: string,
  use: 'push' | 'fetch',
): Promise<Exclude<RemoteAddress, { kind: 'refused' }>> {
  const { url, key } = namedUrl(git, remote, use);
  const named = accepted(remote, use, readRemoteAddress(url, root));
  if (named.kind === 'folder') return named;
  const settings = [setting(`remote.${ownName}.${key}`, latin1(named.url))];
  const transport = await persons.open({ settings }, signal);
  try {
    const push = use === 'push' ? ['--push'] : [];
    const { stdout } = await transport.ask(['remote', 'get-url', ...push, '--', ownName]);
    return accepted(remote, use, readRemoteAddress(stdout.toString('utf8').replace(/\n$/, ''), root));
  } finally {
    transport.remove();
  }
}

function accepted(remote: string, use: 'push' | 'fetch', address: RemoteAddress) {
  if (address.kind !== 'refused') return address;
  const what = use === 'push' ? 'pushed to' : 'fetched from';
  throw unsafe(`the remote "${remote}" cannot be ${what}: ${address.problem}`);
}

/** What the repository's configuration says. `pushurl` is an address like `url`; the card shows it. */
function namedUrl(
  { own }: Pick<OpenedRepository, 'own'>,
  remote: string,
  use: 'push' | 'fetch',
): { url: string; key: 'url' | 'pushurl' } {
  const addresses = own.filter(
    ({ section, name }) => section === 'remote' && (name === 'url' || name === 'pushurl'),
  );
  const remotes = new Set(addresses.map(({ subsection }) => subsection));
  if (!remotes.has(remote)) {
    const known = [...remotes].join(', ');
    throw gitCannot(
      `there is no remote "${remote}"; ${known === '' ? 'none is configured' : `there are: ${known}`}`,
    );
  }
  const urlsOf = (key: string): string[] =>
    addresses
      .filter(({ subsection, name }) => subsection === remote && name === key)
      .map(({ value }) => value);
  const pushUrls = use === 'push' ? urlsOf('pushurl') : [];
  const key = pushUrls.length > 0 ? 'pushurl' : 'url';
  const urls = pushUrls.length > 0 ? pushUrls : urlsOf('url');
  const [url = ''] = urls;
  if (use === 'push' && urls.length > 1)
    throw gitCannot(`the remote "${remote}" has several addresses to push to`);
  return { url: Buffer.from(url, 'latin1').toString('utf8'), key };
}
