import { parseOptions } from '../program/options.ts';
import { globalOptions } from './git/global-options.ts';
import { readNodeOption } from './node.ts';
import { resolveCommand } from './npm-commands.ts';
import { parseNpm } from './npm-options.ts';

/**
 * The words of a command as a rule would write them: the program without its directory, and without the options
 * that may stand before what it is told to do. `/usr/bin/git -C src push` → `git push`, `npm --silent rum x` →
 * `npm run x`, `node --no-warnings a.js` → `node a.js`. For rules that deny or ask, beside the words as they are;
 * never to allow, because what is left out here can change what runs. `undefined` is a word only known at run time.
 */
export function plainCommandWords(words: readonly (string | undefined)[]): readonly (string | undefined)[] {
  const [first, ...rest] = words;
  if (first === undefined) return words;
  const program = first.slice(first.lastIndexOf('/') + 1);
  const args = rest.map((word) => word ?? UNKNOWN);
  return [program, ...plainArguments(program, args)].map((word) => (word === UNKNOWN ? undefined : word));
}

/** No program can get a word with a NUL character, so this one stands for nothing else. */
const UNKNOWN = '\u0000';

function plainArguments(program: string, args: readonly string[]): readonly string[] {
  if (program === 'git') return afterGlobalOptions(args);
  if (program === 'npm') return npmOperands(args);
  if (program === 'node' || program === 'nodejs') return fromNodeScript(args);
  if (/^python[\d.]*$/.test(program)) return fromPythonScript(args);
  return args;
}

function afterGlobalOptions(args: readonly string[]): readonly string[] {
  return parseOptions(args, globalOptions).flatMap((word) => (word.kind === 'operand' ? [word.text] : []));
}

/** npm takes its options anywhere before `--`, so none of them is a part of what it does. */
function npmOperands(args: readonly string[]): readonly string[] {
  const operands = parseNpm(args).flatMap((word) => (word.kind === 'operand' ? [word.text] : []));
  const [command, ...rest] = operands;
  return command === undefined ? [] : [resolveCommand(command) ?? command, ...rest];
}

/** Options that say what node does; the others only say how. */
const nodeModes = new Set(['-e', '--eval', '-p', '--print', '-pe', '--run', '--test', '-c', '--check', '-i']);

function fromNodeScript(args: readonly string[]): readonly string[] {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '--') return args.slice(at + 1);
    if (!arg.startsWith('-') || arg === '-') return args.slice(at);
    const { name, glued, row } = readNodeOption(arg);
    if (nodeModes.has(name)) return args.slice(at);
    if (row?.value !== undefined && !row.optional && glued === undefined) at++;
  }
  return [];
}

function fromPythonScript(args: readonly string[]): readonly string[] {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '--') return args.slice(at + 1);
    if (!arg.startsWith('-') || arg === '-') return args.slice(at);
    if (arg.startsWith('--')) {
      if (arg === '--check-hash-based-pycs') at++;
      continue;
    }
    // `-Im pytest` is `-I -m pytest`; -W and -X take the rest of their word or the next one.
    const letter = /[cmWX]/.exec(arg)?.[0];
    const glued = letter === undefined ? '' : arg.slice(arg.indexOf(letter) + 1);
    const following = args.slice(at + 1);
    if (letter === 'c' || letter === 'm')
      return glued === '' ? [`-${letter}`, ...following] : [`-${letter}`, glued, ...following];
    if (letter !== undefined && glued === '') at++;
  }
  return [];
}
