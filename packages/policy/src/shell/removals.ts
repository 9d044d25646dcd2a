import { foundNames, readFound } from '../program/find/find-call.ts';
import { readGit } from '../program/git/git-call.ts';
import { hasPattern } from '../program/marks.ts';
import { hasLong, readOptions } from '../program/options.ts';
import { contentOf } from './redirections.ts';
import type { ProgramCall } from './shell-run.ts';
import { isStarOnly, normalize, type Protection, protectionOf, resolvePlaces } from './word-paths.ts';

type Counts = (kind: Protection | undefined) => boolean;
type Remover = (call: ProgramCall, counts: Counts) => string | undefined;

/** Programs that remove what they are given, each in its own way. */
const REMOVERS: readonly [names: RegExp, find: Remover][] = [
  [/^(rm|srm|grm|rimraf|trash|del-cli)$/, removesOperands],
  [/^(g?find|fd|fdfind)$/, findsEverything],
  [/^rsync$/, replacesTarget],
  [/^(shred|truncate|unlink)$/, removesPattern],
  [/^(g?tar|bsdtar|zip)$/, archivesAndRemoves],
  [/^git$/, cleansWorkTree],
];

/** The first word a call removes, with all below it, whose protection `counts`. */
export function findRemoved(call: ProgramCall, counts: Counts): string | undefined {
  return REMOVERS.find(([names]) => names.test(call.name))?.[1](call, counts);
}

function removesOperands({ run, name, args }: ProgramCall, counts: Counts): string | undefined {
  const options = readOptions(args);
  const recursive =
    name !== 'rm' || options.flags.has('r') || options.flags.has('R') || hasLong(options, 'recursive', 1);
  return options.operands.find((word) => {
    // without a slash behind it, only a link itself is removed
    const places = resolvePlaces(run, word, { followLast: word.endsWith('/') });
    if (places.some((place) => /^\/?\uFDD6/.test(place)))
      run.tooComplex('what it removes has too many values');
    return places.some(
      (place) => (recursive || isStarOnly(lastPart(place))) && counts(protectionOf(run, place)),
    );
  });
}

const lastPart = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

function replacesTarget({ run, args }: ProgramCall, counts: Counts): string | undefined {
  const options = readOptions(
    args,
    '-e -f -T -B -M --rsh --exclude --include --filter --files-from --exclude-from --include-from',
  );
  const deletes = [...options.flags].some((flag) => flag.startsWith('del') || flag === 'remove-source-files');
  if (!deletes) return undefined;
  const removed = options.flags.has('remove-source-files')
    ? options.operands.slice(0, -1)
    : options.operands.slice(-1);
  return removed.find((word) => resolvePlaces(run, word).some((place) => counts(protectionOf(run, place))));
}

function removesPattern({ run, args }: ProgramCall, counts: Counts): string | undefined {
  return readOptions(args, '-n -s').operands.find((word) =>
    resolvePlaces(run, word).some((place) => hasPattern(place) && counts(protectionOf(run, place))),
  );
}

/** `tar --remove-files`, `zip -m`. The workspace itself does not count: all of it is in the archive then. */
function archivesAndRemoves({ run, name, args }: ProgramCall, counts: Counts): string | undefined {
  const { flags, values, operands } = readOptions(
    args,
    name === 'zip' ? '-b -n -t --file --directory' : '-C -f --file --directory',
  );
  const removes =
    name === 'zip'
      ? flags.has('m') || flags.has('move')
      : [...flags].some((flag) => flag.startsWith('remove-f'));
  if (!removes) return undefined;
  const directory = values.get('C') ?? values.get('directory');
  return operands.find((word) =>
    resolvePlaces(run, directory === undefined || word.startsWith('/') ? word : `${directory}/${word}`).some(
      (place) => {
        const kind = protectionOf(run, place);
        return kind !== 'workspace' && counts(kind);
      },
    ),
  );
}

/** `git clean` somewhere else than in the workspace. */
function cleansWorkTree({ run, args: words }: ProgramCall, counts: Counts): string | undefined {
  const { subcommand, args, directories, workTree } = readGit(words);
  if (subcommand !== 'clean' || args.some((word) => /^(-\w*n\w*|--dry-run)$/.test(word))) return undefined;
  const tree = workTree ?? run.state.variables.get('GIT_WORK_TREE')?.values[0] ?? '.';
  const place = [...directories, tree].reduce((path, next) =>
    next.startsWith('/') ? next : `${path}/${next}`,
  );
  const isProtected = resolvePlaces(run, place).some((where) => {
    const kind = protectionOf(run, where);
    return kind !== 'workspace' && counts(kind);
  });
  return isProtected ? `git clean in ${place}` : undefined;
}

/** `find / -delete`: the starting point whose protection counts. (`-exec` is judged as a call of its own.) */
function findsEverything({ run, args, name }: ProgramCall, counts: Counts): string | undefined {
  const find = readFound(name, args, (file) => contentOf(run, file));
  if (!find.takesAll) return undefined;
  const removes =
    find.deletes || find.calls.some(([program = '']) => /(^|\/)(rm|shred|unlink|srm)$/.test(program));
  if (!removes) return undefined;
  return foundNames(find).find((start) =>
    resolvePlaces(run, start).some((place) => counts(protectionOf(run, normalize(place)))),
  );
}
