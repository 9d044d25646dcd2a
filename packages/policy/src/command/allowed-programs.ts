import type { Program } from './program.ts';
import { date } from './programs/date.ts';
import { cat, head, ls, tail, wc } from './programs/file-readers.ts';
import { find } from './programs/find.ts';
import { gcc } from './programs/gcc.ts';
import { git } from './programs/git.ts';
import { grep } from './programs/grep.ts';
import { locate } from './programs/locate.ts';
import { node } from './programs/node.ts';
import { npm } from './programs/npm.ts';
import { echo, pwd, whoami } from './programs/printers.ts';
import { python } from './programs/python.ts';
import { tar } from './programs/tar.ts';
import { unzip } from './programs/unzip.ts';
import { zip } from './programs/zip.ts';

const programs = [
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
