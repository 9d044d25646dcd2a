import { readGit } from './git/git-call.ts';
import { readNode } from './node.ts';
import { parseNpm, resolveCommand } from './npm-options.ts';
import { readPython } from './python.ts';

/**
 * The words of a command as a policy rule would write them: the program without its directory, and without the options
 * before its subcommand or script. `/usr/bin/git -C src push` → `git push`, `npm --silent rum x` → `npm run x`,
 * `node --no-warnings a.js` → `node a.js`. Rules that deny or ask are matched against these words too. Allow rules are not,
 * because the omitted options can change what runs. `undefined` is a word only known at run time.
 */
export function plainCommandWords(words: readonly (string | undefined)[]): readonly (string | undefined)[] {
  const [first, ...rest] = words;
  if (first === undefined) return words;
  const program = first.slice(first.lastIndexOf('/') + 1);
  const args = rest.map((word) => word ?? UNKNOWN);
  return [program, ...plainArguments(program, args)].map((word) => (word === UNKNOWN ? undefined : word));
}

/** Stands for `undefined`. No real word contains a NUL character. */
const UNKNOWN = '\u0000';

function plainArguments(program: string, args: readonly string[]): readonly string[] {
  if (program === 'git') {
    const { subcommand, args: rest } = readGit(args);
    return subcommand === undefined ? [] : [subcommand, ...rest];
  }
  if (program === 'npm') {
    // npm takes its options anywhere before `--`, so all of them are left out.
    const operands = parseNpm(args).flatMap((word) => (word.kind === 'operand' ? [word.text] : []));
    const [command, ...rest] = operands;
    return command === undefined ? [] : [resolveCommand(command) ?? command, ...rest];
  }
  if (program === 'node' || program === 'nodejs') {
    const { options, script } = readNode(args);
    const mode = options.find(({ spelled }) => nodeModes.test(spelled));
    return mode ? args.slice(args.indexOf(mode.spelled)) : script;
  }
  if (/^python[\d.]*$/.test(program)) {
    const { mode, words } = readPython(args);
    return mode === 'script' ? words : [mode === 'code' ? '-c' : '-m', ...words];
  }
  return args;
}

/** Options that decide what node does, not only how. */
const nodeModes = /^(-e|--eval|-p|--print|-pe|--run|--test|-c|--check|-i)(=|$)/;
