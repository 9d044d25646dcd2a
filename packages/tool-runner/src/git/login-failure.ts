import type { CountersignError } from '@countersign/protocol';
import { gitCannot, gitFailed, wordsOfGit } from './git-failure.ts';
import type { GitAnswer } from './git-process.ts';
import type { NetworkAddress } from './remote-address.ts';

const asksForLogin =
  /could not read (Username|Password)|Authentication failed|Permission denied|Host key verification failed|terminal prompts disabled|returned error: 40[13]|Could not read from remote repository/;
const redirects = /returned error: 30[12378]/;

/** Why the person's own git could not reach a remote, and what the person can do. `command` is what to try themselves. */
export function reachFailed(
  { stderr, exitCode }: Pick<GitAnswer, 'stderr' | 'exitCode'>,
  remote: string,
  { mayAskForLogin, protocol }: NetworkAddress,
  command: string,
): CountersignError {
  const said = wordsOfGit(stderr);
  if (redirects.test(stderr))
    return gitCannot(
      `"${remote}" redirects to another address, and only the address of the card is used; the person must correct it with git remote set-url (${said})`,
    );
  if (!asksForLogin.test(stderr)) return gitFailed(stderr, exitCode);
  if (mayAskForLogin)
    return gitCannot(
      `"${remote}" did not accept the login that the person's git has for it; the person must try it once: ${command} (${said})`,
    );
  const how =
    protocol === 'http'
      ? "its http:// address is not encrypted, so the person's login is not sent there"
      : 'the login in its address is the one that is used';
  return gitCannot(
    `"${remote}" did not accept the login: ${how}; the person must correct the address (${said})`,
  );
}
