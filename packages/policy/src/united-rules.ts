import type { ToolCall } from '@countersign/protocol';
import type { CallAssessment, SimpleCommand } from './call-assessment.ts';
import { isStartedByHarmless } from './command/harmless-commands.ts';
import { type CompiledRule, isRecursive } from './policy-rules.ts';

/** Limits the size of the event that sends these rules to a runner. */
const MOST_RULES = 8;

/**
 * The allow rules that together cover every command of a line, in the order in which the line needs them (RK-5). A command
 * that only reads what it names needs no rule, unless the line writes files: its output may be what is written. Each rule
 * must cover everything about the line except its commands: tool, paths, variables and risk. Returns nothing if a command is
 * left.
 */
export function uniteAllowRules<Rule extends CompiledRule>(
  rules: readonly Rule[],
  call: ToolCall,
  assessment: CallAssessment,
  onlyReads: (command: SimpleCommand) => boolean,
): readonly Rule[] {
  if (assessment.commands.length < 2) return []; // a rule that covers the only command covers the line
  const covered = rules.map((rule) => ({ rule, commands: rule.coveredCommands(call, assessment) }));
  const toCover = new Set(commandsToCover(assessment, onlyReads));
  const needed = new Set<Rule>();
  for (const command of assessment.commands) {
    const found = covered.find((each) => each.commands.has(command));
    if (found) needed.add(found.rule);
    else if (toCover.has(command)) return [];
  }
  return needed.size <= MOST_RULES ? [...needed] : [];
}

/** The commands of a line that a rule must cover: all but those that only read what they name, or that another one starts. */
export function commandsToCover(
  { commands, operands }: CallAssessment,
  onlyReads: (command: SimpleCommand) => boolean,
): readonly SimpleCommand[] {
  const writesFiles = operands.some(({ use }) => use === 'write');
  return commands.filter(
    (command) =>
      !isStartedByHarmless(command.words, commands) &&
      (writesFiles || !namesFiles(command) || !onlyReads(command)),
  );
}

/**
 * Whether the command reads only files that its words name. The line does not run in the confinement that hides sensitive
 * files from readers (VA-2), so a reader may not search folders, and a glob may find such a file or expand to an option.
 */
const namesFiles = ({ words }: SimpleCommand): boolean =>
  !isRecursive(words) && words.every((word) => word !== undefined && !/[*?[]/.test(word));
