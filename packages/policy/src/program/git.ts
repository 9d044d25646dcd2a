import type { Judgement } from '../command/judgement.ts';
import { config } from './git/config-subcommand.ts';
import { readGit } from './git/git-call.ts';
import { historySubcommands, reflogDestroyers } from './git/history-subcommands.ts';
import { maintenanceSubcommands } from './git/maintenance-subcommands.ts';
import { readingSubcommands } from './git/reading-subcommands.ts';
import { remoteSubcommands } from './git/remote-subcommands.ts';
import * as rules from './git/rules.ts';
import { type GitFamily, type GitSubcommand, isFamily } from './git/subcommand.ts';
import { workTreeSubcommands } from './git/work-tree-subcommands.ts';
import { gitHookFiles } from './implied-scripts.ts';
import { OptionState } from './option-state.ts';
import { type Operand, parseOptions, type Word } from './options.ts';
import { judgeOption, type Program } from './program.ts';
import { judgeUnknownWords } from './script-arguments.ts';

const subcommands: ReadonlyMap<string, GitSubcommand | GitFamily> = new Map(
  Object.entries({
    ...readingSubcommands,
    ...workTreeSubcommands,
    ...historySubcommands,
    ...remoteSubcommands,
    ...maintenanceSubcommands,
    reflog: {
      ...(readingSubcommands.reflog as GitFamily),
      members: { ...(readingSubcommands.reflog as GitFamily).members, ...reflogDestroyers },
    },
    config,
  }),
);

/** Global options, the subcommand, then that subcommand's own options and operands. */
export const git: Program = {
  names: ['git'],
  rules: Object.values(rules),
  judge(args, judgement) {
    judgement.raise(rules.usesGit);
    const { options, subcommand: name, args: rest } = readGit(args);
    for (const word of options) judgeGlobal(word, judgement);
    if (name === undefined) return;
    if (!Object.hasOwn(readingSubcommands, name)) noteHooks(judgement);
    const entry = subcommands.get(name);
    if (entry === undefined) {
      judgement.raise(rules.unknownSubcommand, name);
      judgeUnknownWords(rest, judgement);
      return;
    }
    if (isFamily(entry)) judgeFamily(name, entry, rest, judgement);
    else judgeSubcommand(entry, rest, name, judgement);
  },
};

/** The hooks of the repository that git finds from where it stands: there, or in a directory above. */
function noteHooks(judgement: Judgement): void {
  const depth = judgement.directory === '' ? 0 : judgement.directory.split('/').length;
  for (let up = 0; up <= depth; up++) {
    const top = '../'.repeat(up);
    const repository = judgement.look(`${top}.git`);
    if (!repository.ok || repository.entry === undefined) continue;
    for (const file of gitHookFiles) judgement.noteRun(`${top}${file}`);
    return;
  }
}

function judgeGlobal(word: Exclude<Word, Operand>, judgement: Judgement): void {
  if (word.kind === 'option' && word.row.names === '-C' && word.value !== undefined) {
    judgement.enter(word.value, 'read');
    return;
  }
  if (word.kind === 'option' && word.row.names === '--exec-path' && word.value !== undefined)
    judgement.raise(rules.runsProgram, word.spelled);
  judgeOption(word, judgement, 'powerful');
}

function judgeFamily(name: string, family: GitFamily, args: readonly string[], judgement: Judgement): void {
  // `git notes --ref x add`, `git remote -v show`: the family's own options may come first.
  const words = parseOptions(args, { ...family.fallback.options, permutes: false });
  const operands = words.filter((word) => word.kind === 'operand');
  const [first] = operands;
  const member =
    first && !first.afterDashes && Object.hasOwn(family.members, first.text)
      ? family.members[first.text]
      : undefined;
  if (first && member) {
    // Nothing after the first operand is an option here, so the operands are the end of the line.
    const at = args.length - operands.length;
    judgeSubcommand({ ...family.fallback, operands: () => {} }, args.slice(0, at), name, judgement);
    judgeSubcommand(member, args.slice(at + 1), `${name} ${first.text}`, judgement);
    return;
  }
  // `git stash -- x` and `git stash -m x` are the fallback; `git stash x` is an error, or a newer git.
  if (first && !first.afterDashes && !family.isOpen) {
    judgement.raise(rules.unknownSubcommand, `${name} ${first.text}`);
    judgeUnknownWords(args, judgement);
  }
  judgeSubcommand(family.fallback, args, name, judgement);
}

function judgeSubcommand(
  subcommand: GitSubcommand,
  args: readonly string[],
  name: string,
  judgement: Judgement,
): void {
  for (const rule of subcommand.rules ?? []) judgement.raise(rule, name);
  const words = parseOptions(args, subcommand.options);
  const operands: Operand[] = [];
  for (const word of words) {
    if (word.kind === 'operand') operands.push(word);
    else judgeOption(word, judgement, 'powerful');
  }
  subcommand.operands(operands, judgement);
  subcommand.also?.(new OptionState(words), operands, judgement);
}
