import { fileURLToPath } from 'node:url';
import type { AddedToProcess } from '../../e2e/src/server-process.ts';

/** One text of one source that is replaced when Node loads it. Nothing on disk changes. */
export interface Patch {
  /** From the repository's root. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** Builds that are broken on purpose: each loses one promise, and the suite has to notice. */
export const sabotages = {
  /** Runners that are gone are never given up: their calls wait for ever (EX-7). */
  lease: [
    {
      file: 'packages/engine/src/runner-registry.ts',
      find: "if (runner) onLost(runner);",
      replace: '',
    },
  ],
} as const satisfies Readonly<Record<string, readonly Patch[]>>;
export type Sabotage = keyof typeof sabotages;

const hooks = fileURLToPath(new URL('./sabotage-hooks.ts', import.meta.url));

/** What makes a server or a runner run a broken build. */
export function sabotaged(broken: Sabotage | undefined): AddedToProcess {
  return broken === undefined
    ? {}
    : { node: ['--import', hooks], env: { FAULTS_BROKEN: broken } };
}
