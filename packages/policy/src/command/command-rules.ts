import { allowedPrograms } from './allowed-programs.ts';
import type { CommandRule } from './command-rule.ts';
import { generalRules } from './general-rules.ts';

/** Every rule of CommandValidator, for the documentation and for the test that runs their examples. */
export const commandRules: readonly CommandRule[] = [
  ...generalRules,
  ...new Set([...allowedPrograms.values()].flatMap(({ rules }) => rules)),
];
