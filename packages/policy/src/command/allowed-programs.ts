import { cat, head, ls, tail, wc } from '../program/file-readers.ts';
import { find } from '../program/find.ts';
import { gcc } from '../program/gcc.ts';
import { git } from '../program/git.ts';
import { grep } from '../program/grep.ts';
import { locate } from '../program/locate.ts';
import { node } from '../program/node.ts';
import { npm } from '../program/npm.ts';
import { date, echo, pwd, whoami } from '../program/printers.ts';
import type { Program } from '../program/program.ts';
import { python } from '../program/python.ts';
import { tar } from '../program/tar.ts';
import { unzip } from '../program/unzip.ts';
import { zip } from '../program/zip.ts';
import type { CommandRule } from './command-rule.ts';
import { generalRules } from './general-rules.ts';

const programs: readonly Program[] = [
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
export const allowedPrograms: ReadonlyMap<string, Program> = new Map(
  programs.flatMap((program) => program.names.map((name) => [name, program])),
);

/** Every rule of CommandValidator, for the documentation and for the test that runs their examples. */
export const commandRules: readonly CommandRule[] = [
  ...generalRules,
  ...new Set(programs.flatMap(({ rules }) => rules)),
];
