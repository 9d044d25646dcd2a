import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { CallContext } from '../executor.ts';
import { hostsOfAddress } from '../network/remote-hosts.ts';
import { gitCannot } from './git-failure.ts';
import type { GitProgressLines } from './git-phases.ts';
import type { GitRepository } from './git-repository.ts';
import { hookEnvironment, writingOptions } from './git-tools.ts';
import { reachFailed } from './login-failure.ts';
import type { Transport } from './persons-git.ts';
import type { PushPlan } from './push-plan.ts';
import { hidePasswords, type NetworkAddress } from './remote-address.ts';
import { MAX_REFS_BYTES, parseRemoteRefs, transportTo } from './transport-repository.ts';

/** Commits of the remote that are compared with ours; more only make what is sent smaller. */
const MOST_KNOWN = 20_000;

/**
 * Pushes the branch of a plan over the network (RN-6): asks the remote what it has, runs the repository's pre-push hook
 * and packs the missing objects in isolation, and lets the person's own git send them. Outside of isolation no file of
 * the workspace is opened: the pack is the only thing that comes from there.
 */
export async function sendBranch(
  plan: PushPlan & { readonly address: NetworkAddress },
  repository: GitRepository,
  context: CallContext,
  progress: GitProgressLines,
): Promise<{ from: string | null; to: string }> {
  const { git, remote, branch, address, tip } = plan;
  const transport = await transportTo(address, repository, git, { signal: context.signal });
  try {
    const there = await askRemote(plan, transport, repository);
    const before = there.get(`refs/heads/${branch}`);
    if (before === tip) return { from: tip, to: tip };
    const known = await commitsWeHave(plan, there);
    checkForward(plan, before, known);
    await checkShown(plan, known);
    await runPrePush(plan, before, repository, context);
    await packFor(transport, plan, known, repository, context);
    const answer = await transport.run(
      [
        ...['push', '--porcelain', '--no-follow-tags', '--no-signed', '--no-recurse-submodules', '--no-thin'],
        ...['--no-verify', '--progress', '--', address.url, `${tip}:refs/heads/${branch}`],
      ],
      {
        progress,
        timeoutSeconds: repository.workspace.limits.commandTimeoutMaxSeconds,
        onProcess: context.onProcess,
        onStderr: (chunk) =>
          context.onProgress({ output: { stream: 'stderr', chunk: hidePasswords(chunk) } }),
      },
    );
    const refusal = refusalIn(answer.stdout);
    if (refusal !== undefined) throw notTaken(refusal);
    if (answer.exitCode !== 0) throw reachFailed(answer, remote, address, `git push ${remote} ${branch}`);
    await noteTracked(plan, repository, context);
    return { from: before ?? null, to: tip };
  } finally {
    transport.remove();
  }
}

async function askRemote(
  { remote, branch, address }: PushPlan & { readonly address: NetworkAddress },
  transport: Transport,
  { workspace: { limits } }: GitRepository,
): Promise<Map<string, string>> {
  const answer = await transport.run(['ls-remote', '--', address.url], {
    maxBytes: MAX_REFS_BYTES,
    timeoutSeconds: limits.commandTimeoutMaxSeconds,
  });
  if (answer.exitCode !== 0) throw reachFailed(answer, remote, address, `git push ${remote} ${branch}`);
  return parseRemoteRefs(answer.stdout);
}

interface KnownCommits {
  /** Commits at the head of the remote's branches that this repository has. */
  readonly ids: readonly string[];
  /** Whether the push is a fast-forward; undefined if the remote has no such branch. */
  readonly isForward: boolean | undefined;
  readonly hasBefore: boolean;
}

async function commitsWeHave(
  { git, branch, tip }: PushPlan,
  there: ReadonlyMap<string, string>,
): Promise<KnownCommits> {
  const before = there.get(`refs/heads/${branch}`);
  const heads = [...there].filter(([ref]) => ref === 'HEAD' || ref.startsWith('refs/heads/'));
  const wanted = new Set([...(before === undefined ? [] : [before]), ...heads.map(([, id]) => id)]);
  const asked = [...wanted].slice(0, MOST_KNOWN);
  const { stdout } = await git.ask(['cat-file', '--batch-check=%(objectname) %(objecttype)'], {
    input: Buffer.from(asked.map((id) => `${id}\n`).join('')),
    maxBytes: MAX_REFS_BYTES,
  });
  const found = stdout
    .toString('latin1')
    .split('\n')
    .flatMap((line) => (line.endsWith(' commit') ? [line.slice(0, -' commit'.length)] : []));
  if (before === undefined) return { ids: found, isForward: undefined, hasBefore: false };
  const hasBefore = found.includes(before);
  const isForward = hasBefore && (await git.run(['merge-base', '--is-ancestor', before, tip])).exitCode === 0;
  return { ids: found, isForward, hasBefore };
}

function checkForward({ remote }: PushPlan, before: string | undefined, known: KnownCommits): void {
  if (before === undefined || known.isForward === true) return;
  throw notTaken(
    known.hasBefore
      ? '[rejected] (non-fast-forward)'
      : `[rejected] (fetch first): the branch there has commits that are not here, so run git fetch ${remote}`,
  );
}

const notTaken = (why: string): Error =>
  gitCannot(`the remote did not take it: ${why}. It is never pushed by force`);

/**
 * Refuses if commits would be published that the card left out because this repository believes that the remote has them:
 * what it believes may be out of date, or forged.
 */
async function checkShown({ git, remote, tip, remoteTip }: PushPlan, { ids }: KnownCommits): Promise<void> {
  const count = async (left: readonly string[]): Promise<number> => {
    const answer = await git.ask(['rev-list', '--count', '--stdin', ...left], { input: linesOf(tip, ids) });
    return Number(answer.stdout.toString('latin1'));
  };
  const left = ['--not', remoteTip ?? `--remotes=${remote}`];
  const [all, shown] = await Promise.all([count([]), count([...left, '--not'])]);
  const hidden = all - shown;
  if (hidden <= 0) return;
  throw gitCannot(
    `the remote lacks ${hidden} commits that the card did not show, because they count as published here; run git fetch --prune ${remote} and push again`,
  );
}

/** Runs the repository's pre-push hook in isolation, as git would. */
async function runPrePush(
  { git, remote, branch, tip, address, hooks, hooksFolder }: PushPlan & { readonly address: NetworkAddress },
  before: string | undefined,
  repository: GitRepository,
  context: CallContext,
): Promise<void> {
  const hook = hooksFolder === undefined ? undefined : join(hooksFolder, 'pre-push');
  if (hook === undefined || !hooks.includes(hook)) return;
  const writing = writingOptions(repository, context);
  const line = `refs/heads/${branch} ${tip} refs/heads/${branch} ${before ?? '0'.repeat(tip.length)}\n`;
  const answer = await git.run(['-c', 'exec "$0" "$@"', `./${hook}`, remote, hidePasswords(address.url)], {
    ...writing,
    // A program of the workspace cannot be started by name; the hook is an argument.
    program: 'sh',
    input: Buffer.from(line),
    environment: hookEnvironment,
    // Its card names the address of the push, so a hook such as that of git-lfs reaches this host alone.
    confinement: {
      ...writing.confinement,
      network: context.network !== false && hostsOfAddress(address.url),
    },
  });
  if (answer.exitCode === 0) return;
  const said = answer.stderr.trim().split('\n').at(-1) ?? '';
  throw gitCannot(`the hook ${hook} refused it: ${hidePasswords(said).slice(0, 300)}`);
}

/**
 * Makes the packs in isolation: everything that the remote lacks, and the commits and folders that it already has, from
 * which git sees what need not be sent.
 */
async function packFor(
  transport: Transport,
  { git, tip }: PushPlan,
  { ids }: KnownCommits,
  { workspace: { limits } }: GitRepository,
  { signal }: CallContext,
): Promise<void> {
  const pack = async (name: string, input: Buffer, options: readonly string[] = []) => {
    const file = join(transport.folder, 'objects/pack', `pack-${name}.pack`);
    const descriptor = openSync(file, 'wx', 0o600);
    try {
      const args = ['pack-objects', '--revs', '--stdout', '--delta-base-offset', '-q', ...options];
      await git.ask(args, {
        input,
        onStdout: (chunk) => writeAll(descriptor, chunk),
        timeoutSeconds: limits.commandTimeoutMaxSeconds,
        signal,
      });
    } finally {
      closeSync(descriptor);
    }
    await transport.ask(['index-pack', file], { timeoutSeconds: limits.commandTimeoutMaxSeconds });
  };
  const edge = await git.ask(['rev-list', '--boundary', '--stdin'], {
    input: linesOf(tip, ids),
    maxBytes: MAX_REFS_BYTES,
  });
  const edges = [...edge.stdout.toString('latin1').matchAll(/^-([0-9a-f]+)$/gm)].map(([, id]) => id);
  await pack('sent', linesOf(tip, ids));
  if (edges.length === 0) return;
  await pack('commits', Buffer.from([tip, ...ids, ''].join('\n')), ['--filter=tree:0']);
  await pack('folders', Buffer.from(edges.map((id) => `${id}^{tree}\n`).join('')), ['--filter=blob:none']);
}

/** Revisions in the form that git reads: `tip`, but nothing that can be reached from `without`. */
const linesOf = (tip: string, without: readonly string[]): Buffer =>
  Buffer.from([tip, ...without.map((id) => `^${id}`), ''].join('\n'));

function writeAll(descriptor: number, chunk: Buffer): void {
  for (let at = 0; at < chunk.length; ) at += writeSync(descriptor, chunk, at);
}

/** The reason in `! refs… [rejected] (…)`. */
const refusalIn = (stdout: Buffer): string | undefined =>
  /^!\t[^\t]*\t(.*)$/m.exec(stdout.toString('utf8'))?.[1];

/**
 * Records the new state of the remote's branch in the workspace's repository, as git push does. Call it after the push.
 */
async function noteTracked(
  { git, remote, branch, tip, settings }: PushPlan,
  repository: GitRepository,
  context: CallContext,
): Promise<void> {
  const tracked = `refs/remotes/${remote}/${branch}`;
  const isTracked = git.own.some(
    ({ section, subsection, name, value }) =>
      section === 'remote' &&
      subsection === remote &&
      name === 'fetch' &&
      [`refs/remotes/${remote}/*`, tracked].includes(
        Buffer.from(value, 'latin1').toString('utf8').split(':')[1] ?? '',
      ),
  );
  if (!isTracked) return;
  await git.run(['update-ref', '-m', 'update by push', tracked, tip], {
    ...writingOptions(repository, context),
    environment: hookEnvironment,
    settings,
  });
}
