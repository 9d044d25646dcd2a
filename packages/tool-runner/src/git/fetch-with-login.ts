import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallContext } from '../executor.ts';
import { reportProgress } from '../work-progress.ts';
import type { FetchPlan } from './fetch-plan.ts';
import { GitProgressLines } from './git-phases.ts';
import type { GitRepository } from './git-repository.ts';
import { reachFailed } from './login-failure.ts';
import type { Transport } from './persons-git.ts';
import { hidePasswords } from './remote-address.ts';
import { unsafe } from './repository-layout.ts';
import { MAX_REFS_BYTES, transportTo } from './transport-repository.ts';

/** Maximum number of our commits that we tell the remote about, so that it does not send them again. */
const MOST_KNOWN = 2_000;
/** Names of these commits in the transport repository. */
const ownRefs = 'refs/countersign';

/**
 * Fetches with the person's own git into a transport repository, and then lets `run` run the call itself in isolation and
 * without network, where git takes what it wants from there. What was fetched is checked (transfer.fsckObjects) before the
 * workspace's repository gets it. The fetching git reads the objects of the workspace, so that it need not fetch them
 * again, but none of its configuration.
 */
export async function fetchWithLogin<T>(
  plan: FetchPlan,
  repository: GitRepository,
  {
    context,
    timeoutSeconds,
    path,
  }: {
    readonly context: CallContext;
    readonly timeoutSeconds: number;
    /** PATH of commands in isolation. */
    readonly path: string;
  },
  run: (changed: {
    readonly environment: Readonly<Record<string, string>>;
    readonly readable: readonly string[];
  }) => Promise<T>,
): Promise<T> {
  const { git, remote, address, named } = plan;
  const objects = join(repository.workspace.root, '.git/objects');
  if (objects.includes('\n')) throw unsafe('the name of its folder contains a line feed');
  const transport = await transportTo(address, repository, git, {
    alternate: objects,
    hiddenRefs: ownRefs,
    signal: context.signal,
  });
  try {
    await nameKnownCommits(plan, transport);
    await download(plan, transport, context, timeoutSeconds);
    transport.forgetAddress();
    const programs = writeHelper(transport);
    const settings = {
      [`remote.${remote}.vcs`]: helperName,
      [`protocol.${helperName}.allow`]: 'always',
      // Rewrites the address to itself. git uses the longest rewrite, so it prints and records where the objects came
      // from, not an address that the repository made up.
      [`url.${named}.insteadOf`]: named,
      // No card shows the addresses of submodules.
      'fetch.recurseSubmodules': 'false',
      'submodule.recurse': 'false',
    };
    const entries = Object.entries(settings);
    return await run({
      readable: [transport.folder],
      environment: {
        PATH: `${programs}:${path}`,
        GIT_CONFIG_COUNT: String(entries.length),
        ...Object.fromEntries(
          entries.flatMap(([key, value], at) => [
            [`GIT_CONFIG_KEY_${at}`, key],
            [`GIT_CONFIG_VALUE_${at}`, value],
          ]),
        ),
      },
    });
  } finally {
    transport.remove();
  }
}

async function nameKnownCommits({ git }: FetchPlan, { folder }: Transport): Promise<void> {
  const { stdout } = await git.ask(
    ['for-each-ref', `--count=${MOST_KNOWN}`, '--sort=-creatordate', '--format=%(objectname)'],
    { maxBytes: MAX_REFS_BYTES },
  );
  const ids = new Set(stdout.toString('latin1').match(/^[0-9a-f]+$/gm) ?? []);
  writeFileSync(join(folder, 'packed-refs'), [...ids].map((id, at) => `${id} ${ownRefs}/${at}\n`).join(''));
}

async function download(
  { remote, address, sources, tags }: FetchPlan,
  transport: Transport,
  { onProgress, onProcess }: CallContext,
  timeoutSeconds: number,
): Promise<void> {
  const progress = new GitProgressLines();
  const fetch = (wanted: readonly string[]) =>
    transport.run(
      [
        ...[
          'fetch',
          '--no-write-fetch-head',
          '--no-auto-maintenance',
          '--no-recurse-submodules',
          '--progress',
        ],
        ...(tags === 'none' ? ['--no-tags'] : []),
        ...['--', address.url, ...wanted.map((source) => `+${source}:${source}`)],
      ],
      {
        progress,
        timeoutSeconds,
        onProcess,
        onStderr: (chunk) => onProgress({ output: { stream: 'stderr', chunk: hidePasswords(chunk) } }),
      },
    );
  await reportProgress({ report: onProgress, describe: () => progress.latest }, async () => {
    let answer = await fetch(sources);
    const isMissing = /couldn't find remote ref refs\/heads\//.test(answer.stderr);
    // If the remote has no such branch, the name may be that of a tag.
    if (answer.exitCode !== 0 && isMissing)
      answer = await fetch(sources.map((source) => source.replace(/^refs\/heads\/(?!.*\*)/, 'refs/tags/')));
    if (answer.exitCode !== 0) throw reachFailed(answer, remote, address, `git fetch ${remote}`);
  });
}

const helperName = 'countersign';

/** A remote helper for git (gitremote-helpers(7)): connects it with the transport repository instead of the remote. */
function writeHelper({ folder }: Transport): string {
  const programs = join(folder, 'programs');
  mkdirSync(programs, { mode: 0o700 });
  const source = `#!/bin/sh
while read -r line; do
  case "$line" in
    capabilities) printf 'connect\\n\\n' ;;
    'connect git-upload-pack') echo; exec env -u GIT_DIR git upload-pack "\${0%/programs/*}" ;;
    *) exit 1 ;;
  esac
done
`;
  writeFileSync(join(programs, `git-remote-${helperName}`), source, { mode: 0o755 });
  return programs;
}
