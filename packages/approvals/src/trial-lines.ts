import { type Approval, findTool, type Trial, waitsForCommand } from '@countersign/protocol';
import { sizeText } from './result-lines.ts';
import { joined } from './result-view.ts';

/** What a command did when it was tried: run in a layer, under the confinement of LOW, before anybody approved it (RN-13). */
export type TrialOutcome = Extract<Trial, { readonly ended: string }>;
export type TrialFile = TrialOutcome['files'][number];

/** The texts of a trial in one language. */
export interface TrialWords {
  readonly modified: (count: number) => string;
  readonly created: (count: number) => string;
  readonly deleted: (count: number) => string;
  readonly mode: (count: number) => string;
  readonly nothing: string;
  exit(code: number): string;
  seconds(text: string): string;
  readonly ended: Readonly<Record<Exclude<TrialOutcome['ended'], 'exit'>, string>>;
  readonly lands: string;
  readonly landsNothing: string;
  problem(why: string): string;
  readonly withheld: string;
  readonly withheldWhy: string;
  readonly leftOut: string;
  readonly leftOutWhy: string;
  readonly hosts: string;
  readonly hostsWhy: string;
  inDeletedFolders(count: number): string;
  more(count: number): string;
  gitData(count: number): string;
  notText(size: string): string;
  readonly noContent: string;
}

/**
 * Whether a call may be tried before it is decided. The machine must be able to, too: see `ApprovalEntry.isTryable`. The
 * server decides (NOT_TRYABLE).
 */
export function mayBeTried({
  tool_name,
  network,
  preview,
}: Pick<Approval, 'tool_name' | 'network' | 'preview'>): boolean {
  const category = findTool(tool_name)?.category;
  return (
    waitsForCommand(tool_name) &&
    (category === 'command' || category === 'shell') &&
    !network &&
    preview?.kind === 'command' &&
    !preview.network &&
    preview.trial === undefined
  );
}

/** What came of the trial that a card shows; undefined if its call was not tried, or could not be. */
export function trialOf({ preview }: Pick<Approval, 'preview'>): TrialOutcome | undefined {
  const trial = preview?.kind === 'command' ? preview.trial : undefined;
  return trial && 'ended' in trial ? trial : undefined;
}

/**
 * What approving a tried call does. `land`: the changes that are shown land, without running the command again. `nothing`:
 * the agent gets the output that is shown. `run`: the command runs, because the trial did not end by itself.
 */
export function approvalOfTrial({ ended, counts }: TrialOutcome): 'land' | 'nothing' | 'run' {
  if (ended !== 'exit') return 'run';
  return countOf(counts) > 0 ? 'land' : 'nothing';
}

/** In a `.git`, what decides which programs git runs, and a `.git` that names another folder. */
const gitSettings =
  /(^|\/)\.git(\/(.*\/)?(config(\.worktree)?|commondir|attributes|hooks(\/.*(?<!\.sample))?))?$/i;

/** Whether a path is git's own data, which nobody reads as text. Git's settings are not: they execute later (VA-3). */
export const isGitData = (path: string): boolean =>
  path.split('/').includes('.git') && !gitSettings.test(path);

/** The files of a trial, and apart from them those of git's own data. */
export function gitDataOf(files: readonly TrialFile[]): [files: TrialFile[], gitData: TrialFile[]] {
  const isData = ({ path }: TrialFile): boolean => isGitData(path);
  return [files.filter((file) => !isData(file)), files.filter(isData)];
}

/** How many effects of a trial the card does not list: a deleted folder stands for what was in it, and long lists are cut. */
export function unlistedEffects({ counts, files }: TrialOutcome): {
  readonly inDeletedFolders: number;
  readonly others: number;
} {
  const deleted = files.filter(({ change }) => change === 'deleted').length;
  const hidden = Math.max(0, counts.deleted - deleted);
  const others = Math.max(0, countOf(counts) - counts.deleted - (files.length - deleted));
  const areDeletionsCut = files.length === deleted && (others > 0 || files.length >= mostListed);
  return areDeletionsCut
    ? { inDeletedFolders: 0, others: others + hidden }
    : { inDeletedFolders: hidden, others };
}

/** By the protocol, a trial lists at most this many effects, deletions first. */
const mostListed = 1_000;

const countOf = ({ created, modified, deleted, mode }: TrialOutcome['counts']): number =>
  created + modified + deleted + mode;

/** The outcome at a glance: `3 changed, 1 created, 2 deleted · exit 0 · 1.2 s`. Git's own data is counted apart. */
export function trialSummary(trial: TrialOutcome, words: TrialWords): string {
  const { exit_code, duration_ms } = trial;
  const counts = { ...trial.counts };
  const [, gitData] = gitDataOf(trial.files);
  for (const { change } of gitData) counts[change] -= 1;
  const kinds = ['modified', 'created', 'deleted', 'mode'] as const;
  const changes = kinds.flatMap((kind) => (counts[kind] > 0 ? [words[kind](counts[kind])] : []));
  const seconds = duration_ms / 1000;
  return [
    ...(changes.length > 0 ? [changes.join(', ')] : gitData.length > 0 ? [] : [words.nothing]),
    ...(gitData.length > 0 ? [words.gitData(gitData.length)] : []),
    ...(exit_code === null ? [] : [words.exit(exit_code)]),
    words.seconds(seconds.toFixed(seconds < 10 ? 1 : 0)),
  ].join(' · ');
}

/** What stands for the diff of a file that has none: a folder, a binary or a large file. */
export function withoutDiff({ change, size }: TrialFile, words: TrialWords): string | undefined {
  if (change === 'mode') return undefined;
  return size === undefined ? words.noContent : words.notText(sizeText(size));
}

/** What the tried command printed, both streams one after the other. It may hold control characters. */
export const trialOutput = ({ stdout, stderr }: TrialOutcome): string => joined(stdout, stderr);
