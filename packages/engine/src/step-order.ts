import type { Decision } from '@countersign/policy';

/**
 * Which calls of one step must wait for which earlier ones (EX-4): calls that change the same path run in order,
 * and so do commands after writes. Everything else runs in parallel. Answers, for each call, the indexes before
 * it that must have ended.
 */
export function orderOfStep(decisions: readonly Decision[]): readonly (readonly number[])[] {
  const effects = decisions.map(effectOf);
  return effects.map((effect, index) =>
    effects.flatMap((earlier, before) => (before < index && mustWait(earlier, effect) ? [before] : [])),
  );
}

interface Effect {
  readonly isCommand: boolean;
  readonly writes: ReadonlySet<string>;
  readonly touches: ReadonlySet<string>;
}

function mustWait(earlier: Effect, later: Effect): boolean {
  if (later.isCommand)
    return earlier.isCommand ? earlier.writes.size > 0 || later.writes.size > 0 : earlier.writes.size > 0;
  for (const path of earlier.writes) if (later.touches.has(path)) return true;
  for (const path of later.writes) if (earlier.touches.has(path)) return true;
  return false;
}

function effectOf({ call, details }: Decision): Effect {
  const operands = details?.operands ?? [];
  return {
    isCommand: details !== undefined && details.commands.length > 0 && call?.tool !== undefined,
    writes: new Set(operands.filter(({ use }) => use === 'write').map(({ path }) => path)),
    touches: new Set(operands.map(({ path }) => path)),
  };
}
