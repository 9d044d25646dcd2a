import type { Manual, Notes } from './notes.ts';
import type { CommandRule } from './rules.ts';

const handlesArchive: CommandRule = {
  id: 'CMD-UNZIP-1',
  risk: 'HIGH',
  why: 'unpacks or reads an archive, whose content decides which files it writes',
  matches: [
    'unzip archive.zip',
    'unzip -t archive.zip',
    'unzip -o archive.zip -d docs',
    'unzip -l archive.zip',
  ],
  doesNotMatch: ['zip z.zip README.md', 'ls archive.zip'],
};

const leavesDirectory: CommandRule = {
  id: 'CMD-UNZIP-2',
  risk: 'REJECT',
  why: 'lets the archive write outside the directory it is unpacked into',
  matches: ['unzip -: archive.zip', 'unzip -o: archive.zip'],
  doesNotMatch: ['unzip archive.zip', 'unzip -oq archive.zip'],
};

const flags = new Set('ABCDEFGJKLMNSTUVWXYZabcfhijlmnopqrstuvwyz012^$?');

/** Options may stand anywhere; the first operand is the archive, the rest are members, also after -x. */
export const unzip: Manual = {
  names: ['unzip'],
  inShell: true,
  rules: [handlesArchive, leavesDirectory],
  read(args, notes) {
    notes.raise(handlesArchive);
    let isArchiveNamed = false;
    let isExcluding = false;
    const targets: string[] = [];
    const members: string[] = [];
    let isReading = false;
    let isNegating = false;
    for (let at = 0; at < args.length; at++) {
      const arg = args[at] as string;
      if (arg.startsWith('-') && arg !== '-') {
        isExcluding = false;
        const bundle = noteBundle(arg, args[at + 1], notes);
        if (bundle.takesNext) at++;
        if (bundle.excludes) isExcluding = true;
        if (bundle.onlyReads) isReading = true;
        if (arg.includes('-', 1)) isNegating = true;
        if (bundle.target !== undefined) targets.push(bundle.target);
      } else if (!isArchiveNamed) {
        isArchiveNamed = true;
        notes.path(arg, 'read');
      } else if (!isExcluding) {
        notes.path(arg, 'read');
        notes.glob(arg);
        members.push(arg);
      }
    }
    // A second dash takes options back: `-l --l` unpacks.
    if (!isReading || isNegating) {
      for (const member of members) notes.makesName(member);
      // One version of unzip takes the last -d, another the first: each must be inside.
      for (const target of targets) notes.unpackInto(target);
      if (isArchiveNamed && targets.length === 0) notes.unpackInto('.');
    } else {
      for (const target of targets) notes.path(target, 'write', { makes: false });
    }
  },
};

interface Bundle {
  readonly takesNext?: boolean;
  readonly excludes?: boolean;
  readonly onlyReads: boolean;
  readonly target?: string | undefined;
}

function noteBundle(arg: string, next: string | undefined, notes: Notes): Bundle {
  let onlyReads = false;
  for (let i = 1; i < arg.length; i++) {
    const letter = arg[i] as string;
    if ('lptvzcZ'.includes(letter)) onlyReads = true;
    if (letter === ':') notes.raise(leavesDirectory, arg);
    else if (letter === 'x') return { excludes: true, onlyReads };
    else if ('dPOI'.includes(letter)) {
      const glued = i + 1 < arg.length ? arg.slice(i + 1) : undefined;
      return {
        takesNext: glued === undefined,
        onlyReads,
        target: letter === 'd' ? (glued ?? next) : undefined,
      };
    } else if (letter !== '-' && !flags.has(letter)) notes.unknownOption(arg);
  }
  return { onlyReads };
}
