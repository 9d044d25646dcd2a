import { find } from './find.ts';
import { gcc } from './gcc.ts';
import { git } from './git.ts';
import { node } from './node.ts';
import type { Manual } from './notes.ts';
import { npm } from './npm.ts';
import { python } from './python.ts';
import { cat, date, echo, grep, head, locate, ls, pwd, tail, wc, whoami } from './readers.ts';
import * as generalRules from './rules.ts';
import { tar } from './tar.ts';
import { unzip, zip } from './zip.ts';

const programs: readonly Manual[] = [
  grep,
  find,
  locate,
  ls,
  cat,
  head,
  tail,
  wc,
  gcc,
  python,
  node,
  npm,
  git,
  zip,
  unzip,
  tar,
  echo,
  date,
  pwd,
  whoami,
];

/** VA-4: the programs that execute_command starts, by their exact name. */
export const manuals: ReadonlyMap<string, Manual> = new Map(
  programs.flatMap((program) => program.names.map((name) => [name, program])),
);

/** Every rule of CommandValidator, for the documentation and for the test that runs their examples. */
export const commandRules: readonly generalRules.CommandRule[] = [
  ...Object.values(generalRules),
  ...new Set(programs.flatMap(({ rules }) => rules)),
];
