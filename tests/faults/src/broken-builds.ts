import { fileURLToPath } from 'node:url';
import type { AddedToProcess } from '../../lab/src/server-process.ts';

/**
 * Replaces one text of one source when Node loads it. Nothing on disk changes, and the product has no switch for it.
 */
export interface Patch {
  /** Path from the repository's root. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** Builds that are broken on purpose: each breaks one promise, and the suite must notice. */
export const brokenBuilds = {
  /** A lost runner is never given up: its calls wait for ever (EX-7). */
  lease: [
    {
      file: 'packages/engine/src/dispatch/call-assignments.ts',
      find: 'async #take(toolId: string): Promise<void> {',
      replace: 'async #take(toolId: string): Promise<void> { if (toolId) return;',
    },
  ],
  /** A dead node keeps its runs for ever (AG-2). */
  takeover: [
    {
      file: 'packages/engine/src/agent/held-run.ts',
      find: 'if ((await store.read((tx) => tx.orphanedRuns(until(), 1))).length === 0) return [];',
      replace: 'if (!all) return [];',
    },
  ],
  /** What runs may differ from what was approved (AP-8): neither the runner nor the server compares. */
  digest: [
    {
      file: 'packages/tool-runner/src/call-permission.ts',
      find: 'signal.digest !== null && signal.digest !== digest',
      replace: 'false',
    },
    {
      file: 'packages/engine/src/claim/claims.ts',
      find: 'execution.digest !== null && digest !== execution.digest',
      replace: 'false',
    },
  ],
  /** Two programs may claim the same call (EX-6). */
  claim: [
    {
      file: 'packages/engine/src/claim/claims.ts',
      find: 'execution.claimed_by !== (input.instance ?? null)',
      replace: 'false',
    },
  ],
  /** Some events are never delivered (EV-2). */
  event: [
    {
      file: 'packages/engine/src/streams/stream-manager.ts',
      find: 'if (settled?.has(id)) continue;',
      replace: 'if (settled?.has(id) || id % 10 === 0) continue;',
    },
  ],
  /** A later decision replaces the first one (AP-2). */
  decision: [
    {
      file: 'packages/engine/src/approve/approval-decisions.ts',
      find: "if (rows.approval.status !== 'pending') throw alreadyDecided(rows.approval);",
      replace: '',
    },
    // The table of states would refuse it too (EX-2).
    {
      file: 'packages/engine/src/record/execution-record.ts',
      find: '!isLegalTransition(status, to)',
      replace: 'false',
    },
  ],
  /** Anyone who knows an id may read (RE-3). */
  stranger: [
    {
      file: 'packages/engine/src/record/execution-record.ts',
      find: '!execution || !belongsToCaller(caller, execution)',
      replace: '!execution',
    },
  ],
  /** An audit row does not follow the one before it (DA-4). */
  audit: [
    {
      file: 'packages/engine/src/record/announcements.ts',
      find: 'previous_hash: audit_head };',
      replace: "previous_hash: audit_seq % 10 === 0 ? 'forgotten' : audit_head };",
    },
  ],
} as const satisfies Readonly<Record<string, readonly Patch[]>>;
export type BrokenBuild = keyof typeof brokenBuilds;

/** The product with shorter leases, so that a test need not wait half a minute for one to end. */
const quickLeases: readonly Patch[] = [
  ['runnerHeartbeatSeconds: 10,', 'runnerHeartbeatSeconds: 1,'],
  ['runnerLeaseSeconds: 30,', 'runnerLeaseSeconds: 10,'],
  ['runnerWaitSeconds: 60,', 'runnerWaitSeconds: 20,'],
].map(([find = '', replace = '']) => ({ file: 'packages/protocol/src/timing.ts', find, replace }));

const hooks = fileURLToPath(new URL('./patch-hooks.ts', import.meta.url));

export interface Build {
  readonly broken?: BrokenBuild | undefined;
  readonly quickLeases?: boolean | undefined;
}

/** The patches that make a build. */
export const patchesOf = ({ broken, quickLeases: isQuick = false }: Build): readonly Patch[] => [
  ...(broken === undefined ? [] : brokenBuilds[broken]),
  ...(isQuick ? quickLeases : []),
];

/** Node options and environment with which a server or runner runs a patched build. */
export function patched(build: Build): AddedToProcess {
  const patches = patchesOf(build);
  return patches.length === 0
    ? {}
    : { node: ['--import', hooks], env: { FAULTS_PATCHES: JSON.stringify(patches) } };
}

/** The patched source. Throws if a patch does not match: the product has changed, and the patch must follow. */
export function applyPatches(file: string, source: string, patches: readonly Patch[]): string {
  return patches
    .filter((patch) => patch.file === file)
    .reduce((text, { find, replace }) => {
      if (text.split(find).length !== 2) throw new Error(`${file} does not have "${find}" just once`);
      return text.replace(find, () => replace);
    }, source);
}
