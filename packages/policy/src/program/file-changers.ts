import { copiedTemplate } from './file-operands.ts';
import type { Manual, Notes } from './notes.ts';
import { OptionState, type OptionTable, optionTable, parseOptions } from './options.ts';
import { type CommandRule, onlyReads } from './rules.ts';

/** mkdir, touch, cp, mv, rm, ln and tee, for shell lines: as risky as the file tools that do the same. */

const makesFolder: CommandRule = {
  id: 'CMD-FILE-1',
  risk: 'MEDIUM',
  why: 'creates a directory in the workspace',
  matches: ['mkdir out', 'mkdir -p a/b c'],
  doesNotMatch: ['ls out'],
};

const deletes: CommandRule = {
  id: 'CMD-FILE-2',
  risk: 'HIGH',
  why: 'deletes or moves away files, or makes links',
  matches: ['rm a.txt', 'rmdir out', 'mv a.txt b.txt', 'ln -s a.txt b.txt', 'unlink a.txt'],
  doesNotMatch: ['cp a.txt b.txt', 'mkdir rm'],
};

const copiesFolder: CommandRule = {
  id: 'CMD-FILE-3',
  risk: 'MEDIUM',
  why: 'copies into a folder: each file keeps its name',
  matches: ['cp -r a.md out/', 'cp a.txt src/'],
  doesNotMatch: ['cp a.txt b.txt'],
};

const copiesTree: CommandRule = {
  id: 'CMD-FILE-4',
  risk: 'HIGH',
  why: 'copies a folder with everything in it, of whatever kind',
  matches: ['cp -r docs out', 'cp -a docs out/', 'cp -R src/ lib', 'cp -r docs a.md out/'],
  doesNotMatch: ['cp a.txt out/', 'cp -a a.txt b.txt', 'cp -r a.md docs/'],
};

const copyTable = optionTable({
  flags: `-a --archive -d -f --force -H -i --interactive -L --dereference -n --no-clobber -P --no-dereference -p -r -R --recursive
    -T --no-target-directory -u -v --verbose -x --one-file-system --debug --help --version --strip-trailing-slashes`,
  optionalValues: '--update --preserve',
  values: '--no-preserve',
  rows: [{ names: '-t --target-directory', value: 'write' }],
});

const makeTable = optionTable({ flags: '-p --parents -v --verbose', values: '-m --mode' });
const touchTable = optionTable({
  flags: '-a -c --no-create -f -h --no-dereference -m --help --version',
  values: '-d --date -t --time',
  rows: [{ names: '-r --reference', value: 'read' }],
});
const teeTable = optionTable({
  flags: '-a --append -i --ignore-interrupts -p --help --version',
  optionalValues: '--output-error',
});
const removeTable = optionTable({
  flags:
    '-f --force -i -I -r -R --recursive -d --dir -v --verbose -p --parents --one-file-system --ignore-fail-on-non-empty',
});
const linkTable = optionTable({
  flags: '-s --symbolic -f --force -n --no-dereference -r --relative -v --verbose -T -i -L -P',
});

function changer(
  names: string,
  table: OptionTable,
  rules: readonly CommandRule[],
  each: (operands: readonly string[], notes: Notes, state: OptionState) => void,
): Manual {
  return {
    names: names.split(' '),
    rules,
    read(args, notes) {
      const words = parseOptions(args, table);
      for (const word of words) if (word.kind !== 'operand') notes.option(word);
      each(
        words.filter((word) => word.kind === 'operand').map(({ text }) => text),
        notes,
        new OptionState(words),
      );
    },
  };
}

const lastPart = (path: string): string => {
  const trimmed = path.replace(/(?<!\/)\/+$/, '');
  return trimmed.slice(trimmed.lastIndexOf('/') + 1);
};

/**
 * Notes what each source becomes. Policy cannot see the disk, so a target without an extension counts as a folder if a
 * source has one.
 */
function noteCopies(operands: readonly string[], notes: Notes, state: OptionState): void {
  const folder = state.valuesOf('-t').at(-1);
  const sources = folder === undefined ? operands.slice(0, -1) : operands;
  const target = folder ?? operands.at(-1) ?? '';
  const isFolder =
    folder !== undefined ||
    sources.length > 1 ||
    /(^|\/)(\.{1,2})?$/.test(target) ||
    (!/\.\w+$/.test(lastPart(target)) && sources.some((source) => /.\.\w+$/.test(lastPart(source))));
  const place = target.replace(/(?<!^)\/+$/, '');
  const isRecursive = state.wasGiven('-a', '-r', '-R', '--archive', '--recursive');
  const template = copiedTemplate('cp', operands);
  if (template) {
    notes.path(template.source, 'read');
    notes.secret(template.target, 'made');
    return;
  }
  for (const source of sources) {
    notes.path(source, 'read');
    const made = isFolder ? `${place}/${lastPart(source)}` : target;
    if (isRecursive && !/\.\w+$/.test(lastPart(source))) {
      notes.raise(copiesTree, source);
      notes.path(made, 'write', { makes: false });
    } else notes.changes(made);
  }
  if (isFolder && (state.wasGiven('-T', '--no-target-directory') || !/(^|\/)(\.{1,2})?$/.test(target)))
    notes.changesUnlessFolder(place);
  if (isFolder || isRecursive) notes.raise(copiesFolder, target);
}

export const fileChangers: readonly Manual[] = [
  changer('mkdir', makeTable, [makesFolder], (operands, notes) => {
    notes.raise(makesFolder, operands.join(' '));
    for (const text of operands) notes.path(text, 'write', { makes: false });
  }),
  changer('touch', touchTable, [], (operands, notes) => {
    for (const text of operands) notes.changes(text);
  }),
  changer('tee', teeTable, [], (operands, notes) => {
    notes.raise(onlyReads);
    for (const text of operands) if (text !== '/dev/null' && text !== '/dev/stderr') notes.changes(text);
  }),
  { ...changer('cp', copyTable, [copiesFolder, copiesTree], noteCopies), countsOperands: true },
  changer('mv', copyTable, [deletes], (operands, notes, state) => {
    notes.raise(deletes, operands.join(' '));
    noteCopies(operands, notes, state);
  }),
  changer('ln', linkTable, [], (operands, notes) => {
    notes.raise(deletes, operands.join(' '));
    for (const text of operands) notes.path(text, 'write', { makes: false });
  }),
  changer('rm rmdir unlink', removeTable, [], (operands, notes) => {
    notes.raise(deletes, operands.join(' '));
    for (const text of operands) notes.path(text, 'write', { makes: false });
  }),
];
