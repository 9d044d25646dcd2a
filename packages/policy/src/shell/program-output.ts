import { readGit } from '../program/git/git-call.ts';
import { hasHole, hasPattern, madeFrom, NUMBER, STAR, UNKNOWN, USER_NAME } from '../program/marks.ts';
import { readOptions } from '../program/options.ts';
import { withoutLast } from './pattern.ts';
import type { ProgramCall } from './shell-run.ts';
import { normalize, resolvePlaces } from './word-paths.ts';

/** What a call prints, one text for each way it may come out; undefined when nothing can be said. */
type Printer = (call: ProgramCall) => readonly string[] | undefined;

const lines = (texts: readonly string[]): readonly string[] => [texts.map((text) => `${text}\n`).join('')];

const number = (): readonly string[] => [`${NUMBER}\n`];

/** The account's name, as `whoami` prints it. */
const user: Printer = () => [`${USER_NAME}\n`];

/**
 * Programs whose output follows from their words. A removal that gets its target from one of these is judged by
 * that target: `rm -rf "$(dirname /x)"`, `ls / | xargs rm -rf`.
 */
const PRINTERS: Readonly<Record<string, Printer>> = {
  whoami: user,
  logname: user,
  id: ({ args }) => (args.some((word) => /^-\w*n|^--name/.test(word)) ? [`${USER_NAME}\n`] : undefined),
  printenv: ({ run, args }) =>
    args.flatMap((name) => run.state.variables.get(name)?.values.map((value) => `${value}\n`) ?? []),
  dirname: ({ args }) => lines(readOptions(args).operands.map(directoryOf)),
  basename: ({ args }) => {
    const [path = '', suffix = ''] = readOptions(args, '-s').operands;
    const name = lastPart(withoutLast(path, '/')) || (path.startsWith('/') ? '/' : '');
    return [
      `${suffix !== '' && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name}\n`,
    ];
  },
  realpath: resolved,
  readlink: (call) =>
    call.args.some((word) => /^-\w*[fem]|^--canon/.test(word)) ? resolved(call) : undefined,
  git: ({ run, args: words }) => {
    const { subcommand, args, directories } = readGit(words);
    if (subcommand !== 'rev-parse' || !args.includes('--show-toplevel')) return undefined;
    // the top of the repository is the workspace root, as far as we know, or a directory above it
    return directories.length > 0 ? undefined : [`${run.paths.root}\n`];
  },
  ls: listed,
  dir: listed,
  vdir: listed,
  yes: ({ args }) => [`${args.join(' ') || 'y'}\n`],
  command: ({ args }) => lines(args.slice(1).map(programPath)), // -v
  which: ({ args }) => lines(readOptions(args).operands.map(programPath)),
  date: ({ args }) => printedFormat(args.find((word) => word.startsWith('+'))?.slice(1)),
  seq: ({ args }) => printedFormat(readOptions(args, '-f -s').values.get('f')) ?? number(),
  // with operands it prints their names as well
  wc: ({ args }) => (readOptions(args).operands.length === 0 ? number() : undefined),
  nproc: number,
  jq: ({ args }) =>
    args.some((word) => /^-\w*n|^--null-input/.test(word))
      ? [
          `${UNKNOWN}\n`,
          ...args.flatMap((word) => /^"(.*)"$/s.exec(word.trim())?.[1] ?? []).map((text) => `${text}\n`),
        ]
      : undefined,
};

export function outputOf(call: ProgramCall): readonly string[] | undefined {
  const printer = Object.hasOwn(PRINTERS, call.name) ? PRINTERS[call.name] : undefined;
  return printer?.(call);
}

/** Where the system keeps a program, as `which` and `command -v` print it. */
export const programPath = (name: string): string =>
  name.includes('/') || hasHole(name) ? name : `/usr/bin/${name}`;

const lastPart = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

function directoryOf(path: string): string {
  const trimmed = withoutLast(path, '/') || path.slice(0, 1);
  const slash = trimmed.lastIndexOf('/');
  if (slash < 0) return hasHole(trimmed) ? madeFrom(trimmed) : '.';
  return withoutLast(trimmed.slice(0, slash), '/') || '/';
}

function resolved({ run, args }: ProgramCall): readonly string[] {
  const { operands } = readOptions(args);
  const places = operands.flatMap((word) => (word === '' ? [] : resolvePlaces(run, word)));
  return places.length === 0
    ? [`${UNKNOWN}\n`]
    : places.map((place) => `${hasHole(place) ? place : normalize(place)}\n`);
}

/** `ls`: a directory gives the names in it, a pattern the names that match it. */
function listed({ args }: ProgramCall): readonly string[] {
  const { operands, flags } = readOptions(args, '-I -T -w');
  const names =
    operands.length === 0
      ? flags.has('d')
        ? ['.']
        : [STAR]
      : operands.map((word) => (flags.has('d') || hasPattern(word) || hasHole(word) ? word : STAR));
  const isLong = ['l', 's', 'i', 'n', 'o', 'g'].some((letter) => flags.has(letter));
  return lines(names.map((name) => (isLong ? `${UNKNOWN} ${name}` : name)));
}

/** Letters of a format that print digits: dates of `date`, `%g` and its kin of `seq`. */
const DIGITS = 'sYymdHMSjuwNgfe';

const printedFormat = (format: string | undefined): readonly string[] | undefined =>
  format === undefined
    ? undefined
    : [
        `${format.replace(/%[-+ #0_^]{0,9}[\d.]{0,9}([A-Za-z])/g, (_, kind: string) =>
          DIGITS.includes(kind) ? NUMBER : UNKNOWN,
        )}\n`,
      ];
