import { gitCannot, gitFailed } from './git-failure.ts';
import type { GitAnswer } from './git-process.ts';
import type { PushPlan } from './push-plan.ts';

const asksForCredentials =
  /could not read (Username|Password)|Authentication failed|Permission denied|Host key verification failed|terminal prompts disabled|returned error: 40[13]/;

/** Reads `git push --porcelain`: where the remote's branch was before, null for a new one. Throws GIT_FAILED. */
export function readPush(
  answer: GitAnswer,
  { branch, remote, tip, address }: PushPlan,
): { from: string | null; to: string } {
  const line = answer.stdout
    .toString('utf8')
    .split('\n')
    .map((text) => text.split('\t'))
    .find(([, refs]) => refs?.endsWith(`:refs/heads/${branch}`));
  const [flag, , summary = ''] = line ?? [];
  if (flag === '!') throw gitCannot(`the remote did not take it: ${summary}. It is never pushed by force`);
  if (answer.exitCode !== 0) {
    // Over ssh nothing goes without the person's key, however the failure looks.
    const isSsh = address.kind === 'network' && address.protocol === 'ssh';
    // The gate of isolation answers 403 too, and says that it is the gate.
    const isGate = /^remote: Countersign: /m.test(answer.stderr);
    if (isGate || !(isSsh || asksForCredentials.test(answer.stderr)))
      throw gitFailed(answer.stderr, answer.exitCode);
    throw gitCannot(
      `"${remote}" asks for credentials, which tools do not have; the person must push: git push ${remote} ${branch}`,
    );
  }
  if (flag === '=') return { from: tip, to: tip };
  const [, from, to] = /^([0-9a-f]{40,64})\.\.([0-9a-f]{40,64})/.exec(summary) ?? [];
  return { from: from ?? null, to: to ?? tip };
}
