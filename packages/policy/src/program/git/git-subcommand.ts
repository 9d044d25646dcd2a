import type { Notes } from '../notes.ts';
import type { Operand, OptionSection, OptionState, OptionTable } from '../options.ts';
import type { CommandRule } from '../rules.ts';
import { type OperandReader, uncheckedNames, unknownWords } from './operands.ts';
import { gitTable } from './shared-options.ts';

export interface GitSubcommand {
  readonly options: OptionTable;
  readonly operands: OperandReader;
  /** Rules that the subcommand triggers by itself. */
  readonly rules?: readonly CommandRule[];
  /** Notes that depend on the whole line, such as `branch -d -f`. */
  readonly noteWholeLine?: (state: OptionState, operands: readonly Operand[], notes: Notes) => void;
}

/** A subcommand with its own subcommands, such as `git stash pop`. */
export interface GitFamily {
  /** Runs when no member is named. */
  readonly fallback: GitSubcommand;
  readonly members: Readonly<Record<string, GitSubcommand>>;
  /** If set, a first word that is not a member is an operand of the fallback; if not, it is an unknown subcommand. */
  readonly isOpen?: true;
}

export const isFamily = (entry: GitSubcommand | GitFamily): entry is GitFamily => 'members' in entry;

export const subcommand = (operands: OperandReader, ...options: readonly OptionSection[]): GitSubcommand => ({
  options: gitTable(...options),
  operands,
});

/** A subcommand whose operands are names, not paths. */
export const pathless = (...options: readonly OptionSection[]): GitSubcommand =>
  subcommand(uncheckedNames, ...options);

/** Adds rules that the subcommand triggers whatever its words are. */
export const raises = (rules: readonly CommandRule[], subcommand: GitSubcommand): GitSubcommand => ({
  ...subcommand,
  rules,
});

/** A separate program that git starts, such as `git lfs`. The meaning of its words is not known. */
export const separateProgram = (rules: readonly CommandRule[]): GitSubcommand =>
  raises(rules, subcommand(unknownWords));
