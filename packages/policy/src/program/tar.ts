import type { Manual, Notes } from './notes.ts';
import { OptionState, optionTable, parseOptions, type Word } from './options.ts';
import type { CommandRule } from './rules.ts';

const handlesArchive: CommandRule = {
  id: 'CMD-TAR-1',
  risk: 'HIGH',
  why: 'packs or unpacks many files at once',
  matches: ['tar tzf bundle.tar.gz', 'tar -cf z.tar docs', 'tar xf bundle.tar'],
  doesNotMatch: ['cat bundle.tar', 'echo tar'],
};

const startsProgram: CommandRule = {
  id: 'CMD-TAR-2',
  risk: 'REJECT',
  why: 'starts another program',
  matches: [
    'tar -cf z.tar docs --checkpoint=1 --checkpoint-action=exec=ls',
    'tar -xf bundle.tar --to-command ls',
    "tar -I 'sh -c id' -xf bundle.tar",
    'tar --use-compress-prog=id -xf bundle.tar',
    'tar -cf z.tar --info-script=x docs',
    'tar cfF z.tar x docs',
    'tar --rsh-command=id -tf bundle.tar',
    'tar --rmt-c=id -tf bundle.tar',
    'tar xfI bundle.tar ./x',
    'tar --set-mtime-command=totals -cf z.tar docs',
    "tar -I 'zstd -odocs.zst' -cf z.tar docs",
  ],
  doesNotMatch: [
    'tar -I zstd -xf bundle.tar',
    'tar --checkpoint-action=dot -cf z.tar docs',
    'tar -cf z.tar -- --to-command',
    "tar -I 'zstd -19' -cf z.tar docs",
  ],
};

const remoteArchive: CommandRule = {
  id: 'CMD-TAR-3',
  risk: 'REJECT',
  why: 'names an archive on another machine, which starts a remote shell',
  matches: ['tar -cf host:z.tar docs', 'tar tf user@host:/x.tar', 'tar --file=host:x -t'],
  doesNotMatch: ['tar -cf z.tar docs', 'tar --force-local -cf a:b.tar docs', 'tar -cf docs/a:b.tar docs'],
};

const leavesWorkspace: CommandRule = {
  id: 'CMD-TAR-4',
  risk: 'REJECT',
  why: 'lets the archive write to absolute paths, also outside the workspace',
  matches: [
    'tar -xPf bundle.tar',
    'tar xPf bundle.tar',
    'tar -xf bundle.tar --absolute-names',
    'tar -xf bundle.tar --abs',
  ],
  doesNotMatch: ['tar -xpf bundle.tar', 'tar -tPf bundle.tar'],
};

const followsLinks: CommandRule = {
  id: 'CMD-TAR-5',
  risk: 'HIGH',
  why: 'packs what links lead to, also outside the workspace',
  needsPerson: true,
  matches: ['tar -chf z.tar docs', 'tar --dereference -cf z.tar docs'],
  doesNotMatch: ['tar -cf z.tar docs'],
};

const removesFiles: CommandRule = {
  id: 'CMD-TAR-6',
  risk: 'HIGH',
  why: 'removes files from the disk',
  matches: [
    'tar -cf z.tar --remove-files docs',
    'tar -xf bundle.tar --recursive-unlink',
    'tar -xUf bundle.tar',
  ],
  doesNotMatch: ['tar -cf z.tar docs'],
};

const listFromFile: CommandRule = {
  id: 'CMD-TAR-7',
  risk: 'HIGH',
  why: 'takes the files, or even options, from a list in a file',
  needsPerson: true,
  matches: [
    'tar -cf z.tar -T docs/notes.txt',
    'tar cfT z.tar docs/notes.txt',
    'tar -cf z.tar --files-from docs/notes.txt',
    'tar -cf z.tar -X .gitignore docs',
  ],
  doesNotMatch: ['tar -cf z.tar docs/notes.txt'],
};

const compressor =
  /^(gzip|pigz|bzip2|pbzip2|lbzip2|xz|pixz|lzma|lzip|lzop|lz4|zstd|zstdmt|pzstd|compress|brotli)( -(\d+e?|T\d+|[cdfkqv]+))*$/;

const options = optionTable({
  flags: `-A --catenate --concatenate -c --create --delete -d --diff --compare -r --append --test-label -t --list -u --update
    -x --extract --get --check-device -G --incremental --ignore-failed-read --no-check-device --no-seek -n --seek -S --sparse
    --exclude-backups --exclude-caches --exclude-caches-all --exclude-caches-under --exclude-vcs --exclude-vcs-ignores
    --no-null --no-recursion --no-unquote --no-verbatim-files-from --null --recursion --unquote --verbatim-files-from
    --anchored --ignore-case --no-anchored --no-ignore-case --no-wildcards --no-wildcards-match-slash --wildcards
    --wildcards-match-slash --keep-directory-symlink --keep-newer-files -k --keep-old-files --no-overwrite-dir --overwrite
    --overwrite-dir --skip-old-files -W --verify --ignore-command-error --no-ignore-command-error -O --to-stdout
    --clamp-mtime --delay-directory-restore -m --touch --no-delay-directory-restore --no-same-owner --no-same-permissions
    --numeric-owner -p --preserve-permissions --same-permissions --same-owner -s --preserve-order --same-order --acls
    --no-acls --no-selinux --no-xattrs --selinux --xattrs --force-local -M --multi-volume -B --read-full-records -i
    --ignore-zeros -a --auto-compress --no-auto-compress -j --bzip2 -J --xz --lzip --lzma --lzop -z --gzip --gunzip --ungzip
    --zstd -Z --compress --uncompress --hard-dereference --one-file-system -l --check-links --full-time
    -R --block-number --show-defaults --show-omitted-dirs --show-snapshot-field-ranges --show-transformed-names
    --show-stored-names --utc -v --verbose -w --interactive --confirmation -o --old-archive --portability --posix --help
    --restrict --usage --version --preserve`,
  values: `--hole-detection --level --sparse-version --exclude --exclude-tag
    --exclude-tag-all --exclude-tag-under --group --mode --owner --sort --xattrs-exclude --xattrs-include -b
    --blocking-factor --record-size -H --format --pax-option -V --label --strip-components --suffix --transform --xform
    --quote-chars --no-quote-chars --quoting-style -L --tape-length --warning --set-mtime-format`,
  optionalValues: '--occurrence --atime-preserve --backup --checkpoint --totals',
  rows: [
    { names: '-f --file', value: 'text' },
    { names: '-C --directory', value: 'read' },
    { names: '-T --files-from', value: 'read', stream: true, rule: listFromFile },
    { names: '-X --exclude-from', value: 'read', stream: true, rule: listFromFile },
    // tar reads a file of this name in each folder.
    { names: '--exclude-ignore --exclude-ignore-recursive', value: 'read' },
    { names: '-g --listed-incremental', value: 'write' },
    { names: '--add-file', value: 'read' },
    { names: '--owner-map --group-map', value: 'read' },
    { names: '--index-file --volno-file', value: 'write' },
    { names: '--one-top-level', value: 'text', optional: true },
    { names: '-K --starting-file', value: 'text' },
    {
      // The value is a date or a file.
      names: '-N --newer --after-date --newer-mtime --mtime',
      value: (value, notes) => {
        if (/^[/.]/.test(value)) notes.path(value, 'read');
      },
    },
    { names: '-P --absolute-names' },
    { names: '-h --dereference', rule: followsLinks },
    { names: '-U --unlink-first', rule: removesFiles },
    { names: '--remove-files --recursive-unlink', rule: removesFiles },
    {
      names:
        '-F --info-script --new-volume-script --to-command --rsh-command --rmt-command --set-mtime-command',
      value: (program, notes) => notes.mayBePath(program, 'unsafe'),
      rule: startsProgram,
    },
    {
      names: '-I --use-compress-program',
      value: (program, notes) => {
        if (compressor.test(program)) return;
        notes.raise(startsProgram, program);
        notes.mayBePath(program, 'unsafe');
      },
    },
    {
      names: '--checkpoint-action',
      value: (action, notes) => {
        if (!/^(dot|\.|bell|echo|ttyout|totals|sleep|wait)(=|$)/.test(action))
          notes.raise(startsProgram, action);
      },
    },
  ],
});

const archiveRow = options.long.get('file');
const directoryRow = options.long.get('directory');
const absoluteRow = options.long.get('absolute-names');
const topLevelRow = options.long.get('one-top-level');

const readingModes = '-x --extract --get -t --list -d --diff --compare'.split(' ');
const writingModes = '-c --create -r --append -u --update -A --catenate --concatenate --delete'.split(' ');

/** GNU tar, with its old spelling `tar xzf a.tar`. Names after -C start in that directory. */
export const tar: Manual = {
  names: ['tar'],
  inShell: true,
  rules: [
    handlesArchive,
    startsProgram,
    remoteArchive,
    leavesWorkspace,
    followsLinks,
    removesFiles,
    listFromFile,
  ],
  read(args, notes) {
    notes.raise(handlesArchive);
    const words = parseOptions(separateOldStyle(args), options);
    const state = new OptionState(words);
    const isExtracting = state.wasGiven('-x', '--extract', '--get');
    const isReading = state.isOn(readingModes) && !state.wasGiven(...writingModes);
    const writesFiles = isExtracting && !state.isOn(['-O', '--to-stdout']);
    const hasTopLevel = state.wasGiven('--one-top-level');
    let isElsewhere = false;
    let namesMemberHere = false;
    for (const word of words) {
      if (word.kind === 'operand') {
        notes.path(word.text, isExtracting ? 'write' : 'read', { makes: writesFiles });
        namesMemberHere ||= !isElsewhere;
        if (/[*?[]/.test(word.text)) notes.glob(word.text);
        continue;
      }
      if (word.kind === 'option' && word.row === absoluteRow && isExtracting)
        notes.raise(leavesWorkspace, word.spelled);
      if (word.kind === 'option' && word.row === archiveRow && word.value !== undefined) {
        noteArchive(word.value, isReading ? 'read' : 'write', state.isOn(['--force-local']), notes);
      } else if (word.kind === 'option' && word.row === directoryRow && word.value !== undefined) {
        notes.enter(word.value, isExtracting ? 'write' : 'read');
        isElsewhere = true;
        if (writesFiles && !hasTopLevel) notes.unpackInto('.');
      } else notes.option(word);
    }
    if (hasTopLevel) for (const directory of topLevels(words, state)) notes.unpackInto(directory);
    else if (writesFiles && (namesMemberHere || !isElsewhere)) notes.fromStart(() => notes.unpackInto('.'));
    // `-O` only prints, and --one-top-level unpacks into a directory of its own.
    if (isExtracting && !isElsewhere && (hasTopLevel || !writesFiles))
      notes.unpackInto('.', { onlyInShell: true });
  },
};

/** Directories that --one-top-level may unpack into. Without a value, tar takes the archive's name without its extension. */
function topLevels(words: readonly Word[], state: OptionState): readonly string[] {
  const isUnnamed = words.some(
    (word) => word.kind === 'option' && word.row === topLevelRow && word.value === undefined,
  );
  const archives = isUnnamed ? state.valuesOf('--file') : [];
  const derived = archives.map((archive) => archive.replace(/^.*\//, '').replace(/(\.tar)?\.[^.]*$/, ''));
  return [...state.valuesOf('--one-top-level'), ...derived].filter((directory) => directory !== '');
}

function noteArchive(archive: string, use: 'read' | 'write', isLocal: boolean, notes: Notes): void {
  const colon = archive.indexOf(':');
  const slash = archive.indexOf('/');
  if (colon >= 0 && (slash < 0 || colon < slash) && !isLocal) notes.raise(remoteArchive, archive);
  // The archive is opened where tar started, whatever -C says.
  notes.fromStart(() => notes.pathOrStream(archive, use));
}

/**
 * `tar cfC z.tar src` → `-c -f z.tar -C src`: a first word without a dash is a bundle, and its values follow in order. A
 * letter without a value goes last, so that it takes no other word; tar refuses it.
 */
function separateOldStyle(args: readonly string[]): readonly string[] {
  const [first, ...rest] = args;
  if (first === undefined || first === '' || first.startsWith('-')) return args;
  const separated: string[] = [];
  const unmet: string[] = [];
  for (const letter of first) {
    const row = options.short.get(letter);
    const takesValue = row?.value !== undefined && !row.optional;
    const value = takesValue ? rest.shift() : undefined;
    if (takesValue && value === undefined) unmet.push(`-${letter}`);
    else separated.push(`-${letter}`, ...(value === undefined ? [] : [value]));
  }
  return [...separated, ...rest, ...unmet];
}
