import type { FindTerm } from './find-words.ts';

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
 * The terms of find's expression that leave files out instead of looking for them: `! -name .env`, and
 * `-name .env -prune -o -print`.
 */
export function excludingTerms(terms: readonly FindTerm[]): ReadonlySet<FindTerm> {
  const conjunctions: Conjunction[] = [];
  const begin = (parent: Conjunction | undefined): Conjunction => {
    const conjunction = { parent, isPruned: false, acts: false };
    conjunctions.push(conjunction);
    return conjunction;
  };
  const tests: {
    readonly at: number;
    readonly term: FindTerm;
    readonly conjunction: Conjunction;
    readonly isNegated: boolean;
  }[] = [];
  const groups: Group[] = [];
  let group: Group = { conjunction: undefined, isNegated: false };
  let current = begin(undefined);
  let isNegated = false;
  let lastAlternative = -1;
  for (const [at, term] of terms.entries()) {
    const { word } = term;
    if (negations.has(word)) {
      isNegated = !isNegated;
      continue;
    }
    if (word === '(') {
      groups.push(group);
      group = { conjunction: current, isNegated: group.isNegated !== isNegated };
      current = begin(current);
    } else if (word === ')') {
      current = group.conjunction ?? current;
      group = groups.pop() ?? group;
    } else if (alternatives.has(word)) {
      current = begin(group.conjunction);
      if (groups.length === 0) lastAlternative = at;
    } else if (word === '-prune') {
      if (!isNegated && !group.isNegated) current.isPruned = true;
    } else {
      if (actions.has(word)) current.acts = true;
      tests.push({ at, term, conjunction: current, isNegated: group.isNegated !== isNegated });
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
  return new Set(excluding.map(({ term }) => term));
}
