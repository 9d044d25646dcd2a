import { hasPattern } from '../program/marks.ts';
import { hasLong, readOptions } from '../program/options.ts';
import { findsEverything } from './find-call.ts';
import { readGit } from './git-call.ts';
import type { ProgramCall } from './program-call.ts';
import { isStarOnly, type Protection, protectionOf, resolvePlaces } from './word-paths.ts';

type Counts = (kind: Protection | undefined) => boolean;
type Remover = (call: ProgramCall, counts: Counts) => string | undefined;

/** Programs that remove what they are given, each in its own way. */
const REMOVERS: Readonly<Record<string, Remover>> = {
  rm: removesOperands,
  srm: removesOperands,
  grm: removesOperands,
  rimraf: removesOperands,
  trash: removesOperands,
  'del-cli': removesOperands,
  find: findsEverything,
  gfind: findsEverything,
  fd: findsEverything,
  fdfind: findsEverything,
  rsync: replacesTarget,
  shred: removesPattern,
  truncate: removesPattern,
  unlink: removesPattern,
  tar: archivesAndRemoves,
  gtar: archivesAndRemoves,
  bsdtar: archivesAndRemoves,
  zip: archivesAndRemoves,
  git: cleansWorkTree,
};

/** The first word a call removes, with all below it, whose protection `counts`. */
export function findRemoved(call: ProgramCall, counts: Counts): string | undefined {
  return Object.hasOwn(REMOVERS, call.name) ? REMOVERS[call.name]?.(call, counts) : undefined;
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
