import { latin1, setting } from './config-text.ts';
import type { GitRepository, OpenedRepository } from './git-repository.ts';
import type { Transport } from './persons-git.ts';
import type { NetworkAddress } from './remote-address.ts';
import { readSmallFile, unsafe } from './repository-layout.ts';
import { lastValue } from './repository-settings.ts';

/** Larger than the list of refs of any repository that is worked in. */
export const MAX_REFS_BYTES = 64 * 1024 * 1024;

/** A transport to exactly this address, with objects as the workspace's repository has them. Remove it afterwards. */
export async function transportTo(
  { url, protocol, mayAskForLogin }: NetworkAddress,
  repository: GitRepository,
  { own }: Pick<OpenedRepository, 'own'>,
  {
    alternate,
    hiddenRefs,
    signal,
  }: { readonly alternate?: string; readonly hiddenRefs?: string; readonly signal: AbortSignal },
): Promise<Transport> {
  const shallow = readSmallFile(repository.workspace.root, '.git/shallow');
  if (shallow && !/^(?:[0-9a-f]{40,64}\n)*$/.test(shallow.toString('latin1')))
    throw unsafe('its .git/shallow is damaged');
  const transport = await repository.persons.open(
    {
      objectFormat: lastValue(own, 'extensions.objectformat'),
      shallow,
      alternate,
      protocol,
      mayAskForLogin,
      // The address is final: git uses the longest rewrite, so these keep the person's other rewrites from applying
      // twice.
      settings: [
        setting(`url.${latin1(url)}.insteadof`, latin1(url)),
        setting(`url.${latin1(url)}.pushinsteadof`, latin1(url)),
        ...(hiddenRefs === undefined ? [] : [setting('transfer.hiderefs', hiddenRefs)]),
      ],
    },
    signal,
  );
  return transport;
}

/** The refs of the remote and their objects. */
export function parseRemoteRefs(output: Buffer): Map<string, string> {
  const refs = output
    .toString('utf8')
    .split('\n')
    .map((line) => /^([0-9a-f]{40,64})\t(.+)$/.exec(line))
    .filter((found) => found !== null);
  return new Map(refs.map(([, id = '', ref = '']) => [ref, id]));
}
