import type { Manual, Notes } from './notes.ts';
import type { CommandRule } from './rules.ts';

const handlesArchive: CommandRule = {
  id: 'CMD-ZIP-1',
  risk: 'HIGH',
  why: 'packs many files at once',
  matches: ['zip z.zip README.md', 'zip -r - .', 'zip -h'],
  doesNotMatch: ['unzip -l archive.zip', 'ls archive.zip'],
};

const startsProgram: CommandRule = {
  id: 'CMD-ZIP-2',
  risk: 'REJECT',
  why: 'starts another program to test the archive',
  matches: [
    "zip z.zip package.json -T -TT 'ls #'",
    'zip -TTls z.zip README.md',
    'zip --unzip-command ls z.zip README.md',
    'zip --unzip=ls z.zip README.md',
    'zip -rTT id z.zip docs',
  ],
  doesNotMatch: ['zip -T z.zip README.md', 'zip -tt 2020-01-01 z.zip README.md'],
};

const removesFiles: CommandRule = {
  id: 'CMD-ZIP-3',
  risk: 'HIGH',
  why: 'removes files from the disk after packing them',
  matches: ['zip -m z.zip docs/notes.txt', 'zip -rm z.zip docs', 'zip --move z.zip docs/notes.txt'],
  doesNotMatch: ['zip -r z.zip docs'],
};

const listFromInput: CommandRule = {
  id: 'CMD-ZIP-4',
  risk: 'HIGH',
  why: 'takes the files to pack from a list',
  needsPerson: true,
  matches: ['zip z.zip -@', 'zip -r z.zip . -i@docs/notes.txt', 'zip --names-stdin z.zip'],
  doesNotMatch: ['zip z.zip README.md', 'zip -r z.zip docs -x a b @'],
};

type Kind = 'flag' | 'text' | 'read' | 'write' | 'list' | 'exclude' | 'program' | 'move' | 'stdin';

const table = (kind: Kind, names: string): [string, Kind][] => names.split(/\s+/).map((name) => [name, kind]);

/** One- and two-letter options; the longer name wins, as in zip. A trailing `-` negates. */
const short = new Map<string, Kind>([
  ...table(
    'flag',
    `0 1 2 3 4 5 6 7 8 9 A B c C D DF db dc dd dg du dv e E f F FF FS FI fz g h h2 H ic j J jj k l la li ll L
    nw N o p q r R RE S sb sc sd sf so sp su sU sv T u U v V w ws X y z ! ? $ u d UN`,
  ),
  ...table('text', 'n P s t tt Z ds UN kf'),
  ...table('write', 'O lf b'),
  ...table('list', 'i'),
  ...table('exclude', 'x'),
  ...table('program', 'TT'),
  ...table('move', 'm'),
  ...table('stdin', '@'),
]);
const long = new Map<string, Kind>([
  ...table(
    'flag',
    `adjust-sfx after apple-double archive-clear archive-set before binary case-insensitive entry-comments
    copy-entries copy delete display-bytes display-counts display-dots display-globaldots display-usize display-volume
    difference-archive dif no-dir-entries encrypt fixfix fix filesync freshen fifo force-zip64 grow help more-help ignore-case
    junk-paths junk-sfx DOS-names to-crlf log-append log-info from-crlf license no-wild no-universal latest-time old-archive
    paths quiet recurse-paths recurse-patterns regex show-command show-files show-options show-unicode show-just-unicode
    split-bell split-pause split-verbose symlinks system-hidden test update verbose version wild-stop-dirs no-extra archive-comment
    zip-file show-debug use-privileges VMS-portable VMS-specific volume-label global-dots keep-version compress-1 compress-9 store
    must-match junk-paths sync`,
  ),
  ...table(
    'text',
    'suffixes password split-size from-date after-date before-date compression-method dot-size unicode',
  ),
  ...table('write', 'output-file out logfile-path temp-path'),
  ...table('list', 'include'),
  ...table('exclude', 'exclude'),
  ...table('program', 'unzip-command'),
  ...table('move', 'move'),
  ...table('stdin', 'names-stdin'),
]);

/** Info-ZIP's own grammar. The first operand is the archive, the rest are files or patterns. */
export const zip: Manual = {
  names: ['zip'],
  inShell: true,
  rules: [handlesArchive, startsProgram, removesFiles, listFromInput],
  read(args, notes) {
    notes.raise(handlesArchive);
    let isArchiveNamed = false;
    let list: 'list' | 'exclude' | undefined;
    let isAfterDashes = false;
    for (let at = 0; at < args.length; at++) {
      const arg = args[at] as string;
      if (!isAfterDashes && arg === '--') {
        isAfterDashes = true;
        list = undefined;
      } else if (!isAfterDashes && arg.startsWith('-') && arg !== '-') {
        const found = arg.startsWith('--') ? readLong(arg, notes) : readShort(arg, notes);
        list = undefined;
        for (const { kind, value } of found) {
          const taken = noteOption(kind, value, args[at + 1], arg, notes);
          if (taken) at++;
          if (kind === 'list' || kind === 'exclude') list = kind;
        }
      } else if (list !== undefined) {
        if (arg === '@') list = undefined;
        else if (list === 'list') notes.glob(arg);
      } else if (!isArchiveNamed) {
        isArchiveNamed = true;
        notes.pathOrStream(arg, 'write');
      } else {
        notes.pathOrStream(arg, 'read');
        if (/[*?[]/.test(arg)) notes.glob(arg);
      }
    }
  },
};

interface Found {
  readonly kind: Kind;
  readonly value: string | undefined;
}

function readLong(arg: string, notes: Notes): readonly Found[] {
  const equals = arg.indexOf('=');
  const name = (equals < 0 ? arg.slice(2) : arg.slice(2, equals)).replace(/-$/, '');
  const value = equals < 0 ? undefined : arg.slice(equals + 1);
  const exact = long.get(name);
  const fitting = [...long].filter(([full]) => name !== '' && full.startsWith(name));
  const kinds = exact ? [exact] : [...new Set(fitting.map(([, kind]) => kind))];
  if (kinds.length !== 1) notes.unknownOption(arg);
  if (kinds.length === 0 && value !== undefined) notes.mayBePath(value, 'unsafe');
  return kinds.map((kind) => ({ kind, value }));
}

function readShort(arg: string, notes: Notes): readonly Found[] {
  const found: Found[] = [];
  let at = 1;
  while (at < arg.length) {
    const two = arg.slice(at, at + 2);
    const name = two.length === 2 && short.has(two) ? two : (arg[at] as string);
    const kind = short.get(name);
    at += name.length;
    if (kind === undefined) {
      if (name !== '-') notes.unknownOption(arg);
      continue;
    }
    const takesValue = kind !== 'flag' && kind !== 'move' && kind !== 'stdin';
    const rest = arg.slice(at).replace(/^=/, '');
    found.push({ kind, value: takesValue && rest !== '' ? rest : undefined });
    if (takesValue) break;
  }
  return found;
}

/** Returns whether `next` was taken as the value. */
function noteOption(
  kind: Kind,
  glued: string | undefined,
  next: string | undefined,
  spelled: string,
  notes: Notes,
): boolean {
  if (kind === 'flag') return false;
  if (kind === 'move' || kind === 'stdin') {
    notes.raise(kind === 'move' ? removesFiles : listFromInput, spelled);
    return false;
  }
  if (kind === 'program') {
    notes.raise(startsProgram, spelled);
    notes.mayBePath(glued ?? next ?? '', 'unsafe');
    return glued === undefined;
  }
  if (kind === 'list' || kind === 'exclude') {
    if (glued?.startsWith('@')) {
      notes.raise(listFromInput, spelled);
      notes.path(glued.slice(1), 'read');
    } else if (glued !== undefined && kind === 'list') notes.glob(glued);
    return false;
  }
  const value = glued ?? next;
  if (value !== undefined && kind !== 'text') notes.pathOrStream(value, kind);
  return glued === undefined;
}

const unpacksArchive: CommandRule = {
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
  rules: [unpacksArchive, leavesDirectory],
  read(args, notes) {
    notes.raise(unpacksArchive);
    let isArchiveNamed = false;
    let isExcluding = false;
    const targets: string[] = [];
    const members: string[] = [];
    let isReading = false;
    let isNegating = false;
    for (let at = 0; at < args.length; at++) {
      const arg = args[at] as string;
      if (arg.startsWith('-') && arg !== '-') {
        const bundle = noteBundle(arg, args[at + 1], notes);
        if (bundle.takesNext) at++;
        isExcluding = bundle.excludes ?? false;
        isReading ||= bundle.onlyReads;
        isNegating ||= arg.includes('-', 1);
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
    // A second dash negates options: `-l --l` unpacks.
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
