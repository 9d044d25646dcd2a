import { unpackTarget } from '../program/archives.ts';
import { DOWNLOADED, hasHole, hasPattern, UNKNOWN } from '../program/marks.ts';
import { readOptions } from '../program/options.ts';
import { refuseBinaryName } from './binary-names.ts';
import { followMadeFiles } from './made-files.ts';
import { checkFile } from './operands.ts';
import { withoutLast } from './pattern.ts';
import type { ProgramCall } from './program-call.ts';
import { contentOf } from './redirections.ts';
import { warnings } from './warnings.ts';
import { isStarOnly, normalize, resolvePlaces } from './word-paths.ts';

/** Programs whose words are text, numbers or names, never files. */
const TEXT = new Set(
  (
    'echo printf expr seq sleep kill pkill killall basename dirname which type whereis man info help whatis tr yes whoami id uname hostname logger say figlet cowsay ' +
    'tput stty true false date cal factor numfmt getconf nproc uptime free ps top pgrep getent locale systemctl service brew apt apt-get dnf yum pacman notify-send ' +
    'gh command hash complete compgen bind export declare local unset let set shift return exit break continue wait xdg-open open'
  ).split(' '),
);
export const isTextProgram = (name: string): boolean => TEXT.has(name);

/** Programs whose first word is a pattern or a script, unless an option brings it. */
const PATTERN_FIRST =
  /^(e|f|z|p)?grep$|^(rg|ag|ack|ugrep|g?sed|[gmn]?awk|jq|yq|expect|rename|sd|fd|fdfind|locate|mlocate|perl-rename)$/;
const WRITES_LAST = /^(cp|gcp|mv|install|ln|rsync|scp|ditto|g?split|xxd|uniq|objcopy)$/;
const COPIES = /^(cp|gcp|mv|install|ln|rsync)$/;
/** Programs whose words become files with content of the line's own choosing. */
const FILLS = /^(tee|sponge)$/;
const WRITES_ALL =
  /^(tee|touch|mkdir|rm|rmdir|unlink|shred|truncate|mkfifo|mknod|sponge|patch|ed|ex|vim?|nvim|nano|dos2unix|unix2dos)$/;
const MODE_FIRST = /^(chmod|chown|chgrp|chattr|setfacl)$/;
/** Programs that open every word they are given, whatever it looks like. */
const READS_ALL =
  /^(cat|bat|tac|head|tail|less|more|wc|nl|od|xxd|hexdump|strings|base64|base32|sort|uniq|cut|paste|file|stat|md5sum|sha\d+sum|shasum|cksum|diff|cmp|comm|source|\.|vi|vim|nvim|nano|emacs|ed|code|ls|tree|du|gzip|gunzip|zcat|bzip2|xz|zip|tar|cpio|rev|fold|fmt|view|openssl|gpg|split|csplit|iconv|dos2unix|jq|column|tee|readlink|realpath)$/;

/** Checks the files that a program call names (VA-2, VA-3) and notes them. */
export function checkOperands(call: ProgramCall): void {
  const { run, name, args } = call;
  if (TEXT.has(name)) return;
  if (name === 'git') {
    checkGit(call);
    return;
  }
  if (name === 'dd' || name === 'dcfldd') {
    for (const word of args) {
      if (word.startsWith('of=')) checkFile(run, word.slice(3), 'write');
      if (word.startsWith('if=')) checkFile(run, word.slice(3), 'read');
    }
    return;
  }
  const { operands, every, flags } = readOptions(
    args,
    PATTERN_FIRST.test(name) ? '-e -f -m --regexp --file --expression' : '',
  );
  let files = /^g?tar$/.test(name) && /^[A-Za-z]+$/.test(args[0] ?? '') ? operands.slice(1) : operands;
  if (PATTERN_FIRST.test(name)) {
    if (every('e', 'f', 'regexp', 'file', 'expression').length === 0) files = operands.slice(1);
    for (const file of every('f', 'file')) checkFile(run, file, 'read');
  } else if (MODE_FIRST.test(name)) files = operands.slice(1);
  checkOptionValues(call);
  checkOutputOptions(call);
  const unpacked = unpackTarget(call);
  if (unpacked !== undefined) checkFile(run, unpacked, 'write');
  const edits =
    /^g?sed$/.test(name) &&
    ([...flags].some((flag) => flag.startsWith('i')) || args.some((word) => /^-[a-zA-Z]*i/.test(word)));
  for (const [index, word] of files.entries()) {
    const isLast = index === files.length - 1;
    if (
      WRITES_ALL.test(name) ||
      edits ||
      MODE_FIRST.test(name) ||
      name === 'mv' || // what is moved away changes its old place too
      (WRITES_LAST.test(name) && isLast && files.length > 1)
    ) {
      if (edits || FILLS.test(name)) refuseBinaryName(run, word);
      checkFile(run, word, name === 'rm' && hasHole(word) ? 'read' : 'write');
    } else if (
      READS_ALL.test(name) ||
      PATTERN_FIRST.test(name) ||
      WRITES_LAST.test(name) ||
      looksLikePath(word)
    )
      checkFile(run, word, 'read');
    if (/^\.[\uFDD7]$/.test(word)) run.findings.warn(warnings.searchesEverywhere, word);
  }
  if (name === 'mkfifo' || name === 'mknod') run.makesPipe = true;
  if (name === 'mkdir')
    for (const word of operands) for (const place of resolvePlaces(run, word)) run.madeDirectories.add(place);
  if (name === 'rm' || name === 'srm') warnOfRemoval(call, operands);
  if (COPIES.test(name)) followCopies(call);
  followMadeFiles(call);
}

/** Words of a program we know nothing of: a path has a slash or a dot, and is no address and no sentence. */
const looksLikePath = (word: string): boolean =>
  /[./~]/.test(word) && !/\s|:\/\//.test(word) && !/^\d+(\.\d+)*$/.test(word);

/** `--file=x`, `-fx`, `@x`, `key=x`: values that name a file. */
export function checkOptionValues({ run, name, args }: ProgramCall): void {
  for (const word of args) {
    const value = /^(?:--?[\w-]+=|-[A-Za-z](?=[./~])|[\w-]+=@|@|-[A-Za-z]@)(.+)$/s.exec(word)?.[1];
    if (value !== undefined && looksLikePath(value))
      checkFile(
        run,
        value,
        /^--(out|output)/.test(word) || (name === 'sort' && word.startsWith('-o')) ? 'write' : 'read',
      );
  }
}

/** Programs where `-o` does not name a file that is written. */
const OTHER_O =
  /^((e|f|z|p)?grep|rg|ag|ack|ls|ps|lsof|stat|ssh|scp|sftp|mount|umount|nm|od|who|set|curl|wget|ln|cp|mv|install|chmod|chown)$/;

/** `-o x`, `--output x`: the file that most programs write. */
function checkOutputOptions({ run, name, args }: ProgramCall): void {
  if (OTHER_O.test(name)) return;
  for (const [index, word] of args.entries()) {
    const found = /^(?:-o|-out|--out|--output|--outfile|--output-file)(?:=(.+))?$/s.exec(word);
    if (!found) continue;
    const value = found[1] ?? args[index + 1] ?? '';
    if (value === '' || !(looksLikePath(value) || hasHole(value))) continue;
    checkFile(run, value, 'write');
    if (/^g?sort$/.test(name)) refuseBinaryName(run, value);
  }
}

function checkGit({ run, args }: ProgramCall): void {
  const subcommand = args.find((word) => !word.startsWith('-')) ?? '';
  const { operands } = readOptions(
    args,
    `${/^(commit|tag|stash)$/.test(subcommand) ? '-m -F -C -c -S -t' : '-C -c -S -G -L -U -n'}
    --message --grep --author --format --pretty --date`,
  );
  for (const word of operands) {
    const path = word.includes(':') && !word.includes('://') ? word.slice(word.indexOf(':') + 1) : word;
    if (looksLikePath(path) && !path.includes('@'))
      checkFile(run, path, /^(rm|mv|clone|init|worktree)$/.test(subcommand) ? 'write' : 'read');
  }
}

function warnOfRemoval({ run }: ProgramCall, operands: readonly string[]): void {
  for (const word of operands) {
    if (hasHole(word)) run.findings.warn(warnings.unknownRemoval, word);
    else if (isStarOnly(word)) {
      const places = resolvePlaces(run, word);
      run.findings.warn(places.some(hasHole) ? warnings.unknownRemoval : warnings.everythingHere, word);
    } else if (resolvePlaces(run, word).some(hasHole)) run.findings.warn(warnings.unknownRemoval, word);
  }
}

/** One file that `cp` and its kin make out of another. Without knowing the disk, a target may also be a directory. */
interface Copy {
  readonly source: string;
  readonly targets: readonly string[];
}

const COPY_VALUES = '-t -S -m -o -g --target-directory --suffix --mode --owner --group';
const RSYNC_VALUES = '-e -f -T -B -M --rsh --exclude --include --filter --files-from';

function readCopies({ name, args }: ProgramCall): { copies: readonly Copy[]; isSymbolic: boolean } {
  const { operands, values, flags } = readOptions(args, name === 'rsync' ? RSYNC_VALUES : COPY_VALUES);
  const isSymbolic = name !== 'rsync' && (flags.has('s') || flags.has('symbolic'));
  const directory = values.get('t') ?? values.get('target-directory');
  const sources = directory === undefined ? operands.slice(0, -1) : operands;
  const target = directory === undefined ? operands.at(-1) : `${directory}/`;
  if (target === undefined || isRemote(target)) return { copies: [], isSymbolic };
  // `ln -s x` makes a link of that name here
  if (sources.length === 0)
    return { copies: isSymbolic ? [{ source: target, targets: [lastPart(target)] }] : [], isSymbolic };
  const isDirectory = /(^|\/)(\.{1,2})?$/.test(target) || sources.length > 1;
  const copies = sources.map((source) => {
    const inside = `${target}/${lastPart(source)}`;
    return { source, targets: isDirectory ? [inside] : [target, inside] };
  });
  return { copies, isSymbolic };
}

const lastPart = (path: string): string => {
  const trimmed = withoutLast(path, '/');
  const name = trimmed.slice(trimmed.lastIndexOf('/') + 1);
  return isRemote(name) ? name.slice(name.lastIndexOf(':') + 1) : name;
};

/** `host:path`, as rsync names files of another machine. */
const isRemote = (path: string): boolean => /^[\w.@-]{2,}::?[^:]/.test(path) || path.startsWith('rsync://');

/** A copy holds what the original held, so that a download stays a download under another name. */
function followCopies(call: ProgramCall): void {
  const { run, name } = call;
  const { copies, isSymbolic } = readCopies(call);
  for (const { source, targets } of copies) {
    if (!run.step()) return;
    const [first = ''] = targets;
    checkFile(run, first, 'write');
    refuseBinaryName(run, first);
    if (isSymbolic && name === 'ln') {
      linkTo(run, source, targets);
      continue;
    }
    const content = isRemote(source)
      ? DOWNLOADED
      : hasPattern(source)
        ? run.state.readAllFiles()
        : contentOf(run, source);
    if (content === UNKNOWN || content === '') continue;
    for (const target of targets)
      for (const copy of resolvePlaces(run, target)) run.state.writeFile(copy, content);
  }
}

/** What a link names is taken from where the link stands. */
function linkTo(run: ProgramCall['run'], source: string, targets: readonly string[]): void {
  if (hasHole(source)) return;
  for (const target of targets) {
    for (const place of resolvePlaces(run, target, { followLast: false })) {
      const real = source.startsWith('/') ? source : `${place}/../${source}`;
      if (!hasHole(place) && normalize(real) !== place) run.state.links.set(place, normalize(real));
    }
  }
}
