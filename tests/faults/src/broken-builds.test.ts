import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { brokenBuildRuns } from './broken-build-runs.ts';
import { applyPatches, type BrokenBuild, brokenBuilds, patchesOf } from './broken-builds.ts';
import { runFaults } from './fault-run.ts';

const all = Object.keys(brokenBuilds) as BrokenBuild[];

/** Three run at once, each with the time that a run may take to settle. */
const timeout = 1_800_000;
const options = { database: 'sqlite', nodes: 1, seed: 7, ms: 5_000 } as const;

// They mostly wait, so several at once take little longer than one.
it.concurrent.each(all)('detects a build that is broken on purpose: %s', { timeout }, async (broken) => {
  const { violations, folder } = await runFaults({ ...options, broken, ...brokenBuildRuns[broken] });
  expect(violations.join('\n')).toMatch(brokenBuildRuns[broken].seeks.finding);
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

it.concurrent('finds nothing in the same run of an intact build', { timeout }, async ({ expect }) => {
  const { seeks: _, ...same } = brokenBuildRuns.lease;
  const { violations, folder } = await runFaults({ ...options, ...same });
  expect(violations, folder).toEqual([]);
});

it.each(all)('has patches that match the current sources: %s', (broken) => {
  for (const patch of patchesOf({ broken, quickLeases: true })) {
    const path = fileURLToPath(new URL(`../../../${patch.file}`, import.meta.url));
    const source = readFileSync(path, 'utf8');
    expect(applyPatches(patch.file, source, [patch])).not.toBe(source);
    expect(() => applyPatches(patch.file, '', [patch])).toThrow('just once');
  }
});
