import { type FileUse, isRemote, readCopies } from '../program/file-operands.ts';
import { DOWNLOADED, hasHole, hasPattern, originOf, UNKNOWN } from '../program/marks.ts';
import { readOptions } from '../program/options.ts';
import { readProgram } from '../program/read-program.ts';
import { refuseBinaryName } from './binary-names.ts';
import { checkFile } from './operands.ts';
import { contentOf } from './redirections.ts';
import type { ProgramCall, ShellRun } from './shell-run.ts';
import { warnings } from './warnings.ts';
import { isStarOnly, normalize, resolvePlaces } from './word-paths.ts';

/** Checks the files that a program call names (VA-2, VA-3), notes them, and follows what it puts into them. */
export function checkOperands(call: ProgramCall): void {
  const { run, name, args } = call;
  checkFiles(run, readProgram([name, ...args]).files, args);
  const { operands } = readOptions(args);
  if (name === 'mkfifo' || name === 'mknod') run.makesPipe = true;
  if (name === 'mkdir')
    for (const word of operands) for (const place of resolvePlaces(run, word)) run.madeDirectories.add(place);
  if (name === 'rm' || name === 'srm') warnOfRemoval(call, operands);
  followCopies(call);
  followMadeFiles(call);
}

/** `operands`: words among which a pattern for all hidden files is worth a warning. */
export function checkFiles(run: ShellRun, files: readonly FileUse[], operands: readonly string[] = []): void {
  for (const { path, use, makes } of files) {
    if (makes) refuseBinaryName(run, path);
    checkFile(run, path, use);
    if (/^\.[\uFDD7]$/.test(path) && operands.includes(path))
      run.findings.warn(warnings.searchesEverywhere, path);
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

/** A copy holds what the original held, so that a download stays a download under another name. */
function followCopies(call: ProgramCall): void {
  const { run, name, args } = call;
  const { copies, isSymbolic } = readCopies(name, args);
  for (const { source, targets } of copies) {
    if (!run.step()) return;
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

const COMPILES = /^(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|rustc|tcc|ghc|ocamlfind|swiftc|dmd|nim)$/;
const EXPANDS = /^(gunzip|gzip|unxz|xz|bunzip2|bzip2|unzstd|zstd|uncompress|lz4|brotli)$/;

/**
 * A file that a compiler or gunzip makes out of a download is a download. Archives are not followed: the line does not
 * say which files are in them, so a person decides (`curl … | tar xz && cd x && ./configure`).
 */
function followMadeFiles(call: ProgramCall): void {
  const { run, name, args } = call;
  if (!COMPILES.test(name) && !EXPANDS.test(name)) return;
  const { operands, every } = readOptions(args, '-o -f --output --file');
  const read = [...operands, ...every('f', 'file')];
  const origin = originOf([...read.map((word) => contentOf(run, word)), ...(run.stdin ?? [])].join(''));
  if (origin === '') return;
  const made = operands.map((path) => path.replace(/\.[^./]+$/, ''));
  const named = COMPILES.test(name) ? every('o') : [];
  for (const file of named.length > 0 ? named : COMPILES.test(name) ? ['a.out', ...made] : made)
    for (const place of resolvePlaces(run, file)) run.state.writeFile(place, origin);
}
