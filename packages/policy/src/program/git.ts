import { readGit } from './git/git-call.ts';
import { type GitFamily, type GitSubcommand, isFamily } from './git/git-subcommand.ts';
import { harmlessRead } from './git/harmless-reads.ts';
import { historySubcommands } from './git/history-subcommands.ts';
import { maintenanceSubcommands } from './git/maintenance-subcommands.ts';
import { readingSubcommands } from './git/reading-subcommands.ts';
import { remoteSubcommands } from './git/remote-subcommands.ts';
import * as rules from './git/rules.ts';
import { workTreeSubcommands } from './git/work-tree-subcommands.ts';
import type { Manual, Notes } from './notes.ts';
import { OptionState, type OptionWord, parseOptions } from './options.ts';

const subcommands: ReadonlyMap<string, GitSubcommand | GitFamily> = new Map(
  Object.entries({
    ...readingSubcommands,
    ...workTreeSubcommands,
    ...historySubcommands,
    ...remoteSubcommands,
    ...maintenanceSubcommands,
  }),
);

/** Global options, the subcommand, then that subcommand's own options and operands. */
export const git: Manual = {
  names: ['git'],
  rules: Object.values(rules),
  read(args, notes) {
    const call = readGit(args);
    const { options, subcommand: name, args: rest } = call;
    const entry = name === undefined ? undefined : subcommands.get(name);
    const read = entry && !isFamily(entry) && hasAbbreviation(rest, entry) ? undefined : harmlessRead(call);
    if (!read) notes.raise(rules.usesGit);
    for (const word of options) noteGlobal(word, notes);
    // After -C: which repository git finds depends on the directory.
    if (read) notes.gitRead(read);
    if (name === undefined) return;
    if (!Object.hasOwn(readingSubcommands, name)) notes.gitHooks();
    if (entry === undefined) {
      notes.raise(rules.unknownSubcommand, name);
      notes.unknownWords(rest);
      return;
    }
    if (isFamily(entry)) noteFamily(name, entry, rest, notes);
    else noteSubcommand(entry, rest, name, notes);
  },
};

/** `git grep --no-ind`: a read is recognised by its options as they are in the manual. */
function hasAbbreviation(args: readonly string[], { options: { long } }: GitSubcommand): boolean {
  const dashes = args.indexOf('--');
  return (dashes < 0 ? args : args.slice(0, dashes)).some((word) => {
    const name = /^--([^=]+)/.exec(word)?.[1];
    return (
      name !== undefined && ![name, `no-${name}`, name.replace(/^no-/, '')].some((full) => long.has(full))
    );
  });
}

function noteGlobal(word: OptionWord, notes: Notes): void {
  if (word.kind === 'option' && word.row.names === '-C' && word.value !== undefined) {
    notes.enter(word.value, 'read');
    return;
  }
  if (word.kind === 'option' && word.row.names === '--exec-path' && word.value !== undefined)
    notes.raise(rules.runsProgram, word.spelled);
  notes.option(word);
}

function noteFamily(name: string, family: GitFamily, args: readonly string[], notes: Notes): void {
  // `git notes --ref x add`, `git remote -v show`: the family's own options may come first.
  const words = parseOptions(args, { ...family.fallback.options, permutes: false });
  const operands = words.filter((word) => word.kind === 'operand');
  const [first] = operands;
  const member =
    first && !first.afterDashes && Object.hasOwn(family.members, first.text)
      ? family.members[first.text]
      : undefined;
  if (first && member) {
    // With `permutes: false`, every word after the first operand is an operand too.
    const at = args.length - operands.length;
    noteSubcommand({ ...family.fallback, operands: () => {} }, args.slice(0, at), name, notes);
    noteSubcommand(member, args.slice(at + 1), `${name} ${first.text}`, notes);
    return;
  }
  // `git stash -- x` and `git stash -m x` use the fallback. `git stash x` is an error, or a subcommand of a newer git.
  if (first && !first.afterDashes && !family.isOpen) {
    notes.raise(rules.unknownSubcommand, `${name} ${first.text}`);
    notes.unknownWords(args);
  }
  noteSubcommand(family.fallback, args, name, notes);
}

function noteSubcommand(
  subcommand: GitSubcommand,
  args: readonly string[],
  name: string,
  notes: Notes,
): void {
  for (const rule of subcommand.rules ?? []) notes.raise(rule, name);
  const words = parseOptions(args, subcommand.options);
  for (const word of words) if (word.kind !== 'operand') notes.option(word);
  const operands = words.filter((word) => word.kind === 'operand');
  subcommand.operands(operands, notes);
  subcommand.noteWholeLine?.(new OptionState(words), operands, notes);
}
