import type { CommandRule } from '../command/command-rule.ts';
import { unknownOption, unknownOptionOfPowerful } from '../command/general-rules.ts';
import type { Judgement } from '../command/judgement.ts';
import { type Operand, type OptionTable, parseOptions, type Word } from './options.ts';

/** One program that execute_command may start, and how its arguments are judged. */
export interface Program {
  readonly names: readonly string[];
  /** Every rule that `judge` can raise beside the general ones; their examples are tests. */
  readonly rules: readonly CommandRule[];
  judge(args: readonly string[], judgement: Judgement): void;
}

/** Whether the program can run code: then what we do not know of it weighs more. */
export type Power = 'reader' | 'powerful';

/** Parses the arguments, applies what each option means, and returns the operands. */
export function judgeOptions(
  args: readonly string[],
  table: OptionTable,
  judgement: Judgement,
  power: Power,
): readonly Operand[] {
  const operands: Operand[] = [];
  for (const word of parseOptions(args, table)) {
    if (word.kind === 'operand') operands.push(word);
    else judgeOption(word, judgement, power);
  }
  return operands;
}

export function judgeOption(word: Exclude<Word, Operand>, judgement: Judgement, power: Power): void {
  if (word.kind === 'unknown') {
    judgement.raise(power === 'powerful' ? unknownOptionOfPowerful : unknownOption, word.spelled);
    if (word.value !== undefined) refuseUnsafe(word.value, judgement);
    return;
  }
  // Taking something back has no effect of its own: what it leaves in force, `OptionState` says.
  if (word.kind === 'negation') {
    if (word.value !== undefined) refuseUnsafe(word.value, judgement);
    return;
  }
  const { rule, value: meaning } = word.row;
  if (rule) judgement.raise(rule, word.spelled);
  if (meaning === undefined || meaning === 'text') {
    // A value glued to an option that takes none: the program will complain, but a path in it is still a path.
    if (meaning === undefined && word.value !== undefined) refuseUnsafe(word.value, judgement);
    return;
  }
  if (word.value === undefined) return;
  if (typeof meaning === 'function') meaning(word.value, judgement);
  else if (word.row.stream) judgement.pathOrStream(word.value, meaning);
  else judgement.path(word.value, meaning);
}

/** For a word of unknown meaning: when it can only be a path outside, the PathValidator's refusal counts. */
export function refuseOutside(text: string, judgement: Judgement): void {
  if (!looksLikeOutsidePath(text)) return;
  const checked = judgement.look(text);
  if (!checked.ok) judgement.refuse(checked.refused);
}

/** As `refuseOutside`; and when the word would name a sensitive file or a link out of the workspace, that counts too. */
export function refuseUnsafe(text: string, judgement: Judgement): void {
  if (text === '' || text.length > 4096) return;
  const checked = judgement.look(text);
  if (checked.ok) return;
  const { code } = checked.refused;
  if (code === 'PATH_SENSITIVE' || code === 'PATH_OUTSIDE_WORKSPACE' || looksLikeOutsidePath(text))
    judgement.refuse(checked.refused);
}

export const looksLikeOutsidePath = (text: string): boolean =>
  text.startsWith('/') ||
  text.startsWith('~/') ||
  text === '..' ||
  text.startsWith('../') ||
  text.includes('/../');
