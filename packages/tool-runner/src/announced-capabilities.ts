import { catalogue, runnerCapabilities } from '@countersign/protocol';

/** What this runner says it can do when it opens its stream: the tools that it has, by category, and what it sees to. */
export const announcedCapabilities: readonly string[] = [
  ...new Set(Object.values(catalogue).map(({ category }) => category)),
  ...Object.values(runnerCapabilities),
];
