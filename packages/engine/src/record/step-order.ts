import type { PolicyDecision } from '@countersign/policy';
import { isCustomCall } from '@countersign/protocol';

/**
 * Which calls of one step must wait for which earlier ones (EX-4): calls that change the same path, or a folder above
 * it, run in order, and so do commands after writes and everything after a command that may write. Everything else runs
 * in parallel. Answers, for each call, the indexes before it that must have ended.
 */
export function orderOfStep(decisions: readonly PolicyDecision[]): readonly (readonly number[])[] {
  const effects = decisions.map(effectOf);
  return effects.map((effect, index) =>
    effects.flatMap((earlier, before) => (before < index && mustWait(earlier, effect) ? [before] : [])),
  );
}

interface Effect {
  /** A program that may look at whatever was written before it. */
  readonly isCommand: boolean;
  /** It may write anywhere: a command that is not harmless, a commit, a push. */
  readonly writesAnywhere: boolean;
  readonly writes: readonly string[];
  readonly touches: readonly string[];
  /** It looks at no file: the output of a job, its end. */
  readonly isApart: boolean;
}

function mustWait(earlier: Effect, later: Effect): boolean {
  if (earlier.isApart || later.isApart) return false;
  if (earlier.writesAnywhere) return true;
  if (later.isCommand && earlier.writes.length > 0) return true;
  return overlap(earlier.writes, later.touches) || overlap(later.writes, earlier.touches);
}

function overlap(some: readonly string[], others: readonly string[]): boolean {
  return some.some((a) => others.some((b) => a === b || isAbove(a, b) || isAbove(b, a)));
}

/** The root is written as nothing at all. */
const isAbove = (folder: string, path: string): boolean => folder === '' || path.startsWith(`${folder}/`);

/** On many disks `A.md` is `a.md`: to wait without need costs a moment. */
const fold = (path: string): string => path.normalize('NFC').toLowerCase();

function effectOf({ call, details, assessed }: PolicyDecision): Effect {
  // What was refused does nothing.
  if (!call || !details || !assessed)
    return { isCommand: false, writesAnywhere: false, writes: [], touches: [], isApart: true };
  // What a custom tool touches, only its own program knows.
  const isCommand = details.commands.length > 0 || call.tool.startsWith('git_') || isCustomCall(call);
  return {
    isCommand,
    writesAnywhere: isCommand && assessed.decision !== 'LOW',
    writes: details.operands.filter(({ use }) => use === 'write').map(({ path }) => fold(path)),
    touches: details.operands.map(({ path }) => fold(path)),
    isApart: 'job_id' in call.params && !isCustomCall(call),
  };
}
