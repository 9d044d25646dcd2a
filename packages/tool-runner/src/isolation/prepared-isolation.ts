import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Workspace } from '../workspace.ts';
import { inheritedDescriptors } from './bubblewrap.ts';
import { readPersonName } from './command-environment.ts';
import { ownLimits } from './command-limits.ts';
import { ExecutingPlaceGuard } from './executing-place-guard.ts';
import type { IsolationTools } from './isolation-probe.ts';
import { type SeccompOptions, seccompFilter } from './seccomp-filter.ts';
import { identifyProcess } from './started-process.ts';
import { type PreparedFiles, prepareFiles, systemArguments } from './system-view.ts';
import type { WorkspaceScan } from './workspace-scan.ts';

/** What isolation needs, made once, when the first program starts. */
export interface Prepared {
  readonly tools: IsolationTools;
  readonly files: PreparedFiles;
  readonly seccomp: { readonly withSockets: string; readonly withoutSockets: string } | undefined;
  readonly inherited: readonly number[];
  readonly guard: ExecutingPlaceGuard;
  readonly system: readonly string[];
  readonly limitsOfRunner: ReadonlyMap<string, number>;
}

/** Writes the files that isolation mounts into the state folder, and settles what a killed runner left there. */
export function prepareIsolation(
  { root, stateFolder, home }: Workspace,
  tools: IsolationTools,
  scan: WorkspaceScan,
): Prepared {
  const folder = join(stateFolder, 'isolation');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const writeFilter = (name: string, options: SeccompOptions): string | undefined => {
    const filter = seccompFilter(options);
    if (filter) writeFileSync(join(folder, name), filter);
    return filter && join(folder, name);
  };
  const withSockets = writeFilter('seccomp', { unixSockets: true });
  const withoutSockets = writeFilter('seccomp-low', { unixSockets: false });
  const files = prepareFiles(folder, readPersonName(home));
  const guard = new ExecutingPlaceGuard({ root, stateFolder, findPlaces: () => scan.findPlaces() });
  guard.settleAbandoned((pid) => identifyProcess(pid) === undefined);
  return {
    tools,
    files,
    system: systemArguments(files),
    limitsOfRunner: ownLimits(),
    seccomp: withSockets && withoutSockets ? { withSockets, withoutSockets } : undefined,
    inherited: inheritedDescriptors(),
    guard,
  };
}
