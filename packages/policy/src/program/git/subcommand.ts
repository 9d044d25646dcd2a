import type { Notes } from '../notes.ts';
import type { OptionState } from '../option-state.ts';
import type { Operand, OptionSection, OptionTable } from '../options.ts';
import type { CommandRule } from '../rules.ts';
import { names, type OperandReader, unknownWords } from './operands.ts';
import { gitTable } from './shared-options.ts';

/** How one git subcommand is judged: its options, its operands, and what it always or sometimes does. */
export interface GitSubcommand {
  readonly options: OptionTable;
  readonly operands: OperandReader;
  /** Rules that the subcommand triggers by itself. */
  readonly rules?: readonly CommandRule[];
  /** What only the whole line tells, such as `branch -d -f`. */
  readonly also?: (state: OptionState, operands: readonly Operand[], notes: Notes) => void;
}

/** A subcommand with its own subcommands, such as `git stash pop`. */
export interface GitFamily {
  /** What runs when none is named. */
  readonly fallback: GitSubcommand;
  readonly members: Readonly<Record<string, GitSubcommand>>;
  /** Whether a first word that is no member belongs to the fallback; otherwise it is unknown. */
  readonly isOpen?: true;
}

export const isFamily = (entry: GitSubcommand | GitFamily): entry is GitFamily => 'members' in entry;

export const subcommand = (operands: OperandReader, ...options: readonly OptionSection[]): GitSubcommand => ({
  options: gitTable(...options),
  operands,
});

/** A subcommand whose operands are names, not paths. */
export const plain = (...options: readonly OptionSection[]): GitSubcommand => subcommand(names, ...options);

/** A program of its own behind git, such as `git lfs`: nothing is known of its words. */
export const foreign = (rules: readonly CommandRule[]): GitSubcommand => ({
  ...subcommand(unknownWords),
  rules,
});
