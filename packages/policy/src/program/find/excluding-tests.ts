const alternatives = new Set(['-o', '-or', ',']);
const negations = new Set(['!', '-not']);
const actions = new Set(['-print', '-print0', '-printf', '-ls', '-quit']);

/** Tests joined by "and"; `parent` is where the group stands that they are in. */
interface Conjunction {
  readonly parent: Conjunction | undefined;
  isPruned: boolean;
  acts: boolean;
}

interface Group {
  readonly conjunction: Conjunction | undefined;
  readonly isNegated: boolean;
}

/**
 * Where in find's expression tests stand that leave files out instead of looking for them: `! -name .env`, and
 * `-name .env -prune -o -print`. Answers with the positions of those tests in `args`.
 */
export function excludingTests(
  args: readonly string[],
  from: number,
  takesArgument: (arg: string) => boolean,
): ReadonlySet<number> {
  const conjunctions: Conjunction[] = [];
  const begin = (parent: Conjunction | undefined): Conjunction => {
    const conjunction = { parent, isPruned: false, acts: false };
    conjunctions.push(conjunction);
    return conjunction;
  };
  const tests: { readonly at: number; readonly conjunction: Conjunction; readonly isNegated: boolean }[] = [];
  const groups: Group[] = [];
  let group: Group = { conjunction: undefined, isNegated: false };
  let current = begin(undefined);
  let isNegated = false;
  let lastAlternative = -1;
  for (let at = from; at < args.length; at++) {
    const arg = args[at] as string;
    if (negations.has(arg)) {
      isNegated = !isNegated;
      continue;
    }
    if (arg === '(') {
      groups.push(group);
      group = { conjunction: current, isNegated: group.isNegated !== isNegated };
      current = begin(current);
    } else if (arg === ')') {
      current = group.conjunction ?? current;
      group = groups.pop() ?? group;
    } else if (alternatives.has(arg)) {
      current = begin(group.conjunction);
      if (groups.length === 0) lastAlternative = at;
    } else if (arg === '-prune') {
      if (!isNegated && !group.isNegated) current.isPruned = true;
    } else {
      if (actions.has(arg)) current.acts = true;
      tests.push({ at, conjunction: current, isNegated: group.isNegated !== isNegated });
      if (takesArgument(arg) || arg === '-printf') at++;
    }
    isNegated = false;
  }

  for (const { acts, parent } of conjunctions.toReversed()) if (acts && parent) parent.acts = true;
  // Without any action find prints whatever the whole expression accepts, also what was pruned.
  const hasAction = conjunctions.some(({ acts }) => acts);
  const leavesOut = new Set<Conjunction>();
  for (const each of conjunctions) {
    const isLeftOut = hasAction && each.isPruned && !each.acts;
    if (isLeftOut || (each.parent && leavesOut.has(each.parent))) leavesOut.add(each);
  }
  const excluding = tests.filter(
    // `! -name .env -o -print` prints exactly .env: a negation only counts where no alternative follows.
    ({ at, conjunction, isNegated }) => leavesOut.has(conjunction) || (isNegated && at > lastAlternative),
  );
  return new Set(excluding.map(({ at }) => at));
}
