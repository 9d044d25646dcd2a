import type { CommandOperand } from '../call-assessment.ts';
import { executingPlaces } from '../executing-places.ts';
import { type FileUse, isRemote, readCopies } from '../program/file-operands.ts';
import { DOWNLOADED, hasHole, hasMark, hasPattern, originOf, readable, UNKNOWN } from '../program/marks.ts';
import { readOptions } from '../program/options.ts';
import { readProgram } from '../program/read-program.ts';
import { sensitivePlaces } from '../sensitive-places.ts';
import { wordList } from '../text.ts';
import { refuse } from '../verdict.ts';
import { absoluteComponents, type NamedPlace, relativeInside } from '../workspace-path.ts';
import { writeRuleFor } from '../write-rules.ts';
import { catastrophes } from './catastrophes.ts';
import { contentOf } from './redirections.ts';
import type { ProgramCall, ShellRun } from './shell-run.ts';
import { warnings } from './warnings.ts';
import { isStarOnly, matchesPattern, mayBeDisk, normalize, resolvePlaces } from './word-paths.ts';

/** Names that a pattern is tried against: one for each kind of secret that has a fixed name. */
const SECRET_NAMES = wordList(`.env .env.local .env.production .npmrc .netrc .pypirc .pgpass .git-credentials
  .ssh .aws .gnupg .kube .azure .htpasswd .my.cnf credentials.json service-account.json id_rsa id_ed25519
  id_ecdsa`);

/** Secrets of the machine itself, which no project needs. */
const SYSTEM_SECRET =
  /^\/etc\/(g?shadow-?|sudoers(\.d\/.*)?|ssh\/ssh_host_.*key)$|^\/proc\/[^/]+\/(environ|mem)$/;

/**
 * Checks one file that a command names: refuses secrets (VA-2) and devices, warns of places outside the workspace
 * and of places that execute later (VA-3), and notes what is inside for the approval's digest.
 */
export function checkFile(run: ShellRun, path: string, use: CommandOperand['use']): void {
  if (path === '' || path === '-') return;
  const { findings } = run;
  if (use === 'write') {
    for (const place of resolvePlaces(run, path)) {
      if (mayBeDisk(place)) {
        findings.refuse(catastrophes.device, path);
        return;
      }
    }
  }
  if (hasPattern(path)) checkPattern(run, path);
  if (hasHole(path)) {
    if (use === 'write' && path.includes('/')) warnOfLater(run, findLaterByPattern(path), path);
    const tail = path.slice(path.lastIndexOf('/') + 1);
    if (path.includes('/') && !hasHole(tail) && sensitivePlaces.find(tail)) refuseSecret(run, path, tail);
    if (use === 'write') findings.warn(warnings.unknownTarget, path);
    return;
  }
  for (const place of resolvePlaces(run, path)) checkPlace(run, path, place, use);
}

/** A file that is executed if it exists: listed for card and digest (AP-8), but not a reason. */
export function noteRunFile(run: ShellRun, path: string): void {
  if (hasHole(path) || hasPattern(path)) return;
  for (const place of resolvePlaces(run, path)) {
    if (hasMark(place)) continue;
    const lexical = relativeInside(absoluteComponents(run.paths.root), absoluteComponents(place));
    const check = lexical === undefined ? undefined : run.paths.check(lexical || '.');
    if (check?.ok && check.entry !== undefined) run.findings.impliedRun(check.relative);
  }
}

function checkPlace(run: ShellRun, path: string, place: string, use: CommandOperand['use']): void {
  const { findings } = run;
  if (isHarmlessDevice(place)) return;
  const lexical = relativeInside(absoluteComponents(run.paths.root), absoluteComponents(place));
  const check = run.paths.check(lexical === undefined ? place : lexical || '.');
  if (check.ok) {
    if (!hasMark(place)) findings.operand(check.relative, use);
    if (use === 'write') {
      const later =
        check.executesLater ?? (hasPattern(place) ? findLaterByPattern(check.relative) : undefined);
      warnOfLater(run, later, path);
    }
    if (check.liftedSensitive) findings.warn(warnings.lifted, path);
    return;
  }
  if (check.refused.code === 'PATH_SENSITIVE') {
    findings.refuseAs(check.refused);
    return;
  }
  if (check.refused.code === 'PATH_OUTSIDE_WORKSPACE') {
    const secret = sensitivePlaces.find(place.slice(1));
    if (secret) {
      refuseSecret(run, place, place.slice(1));
      return;
    }
    if (SYSTEM_SECRET.test(place)) {
      const reason = {
        rule: 'SH-16',
        why: `"${path}" holds secrets of this machine`,
        operand: readable(path),
      };
      findings.refuseAs(
        refuse('PATH_SENSITIVE', { path: readable(path), kind: 'secret of this machine' }, reason),
      );
      return;
    }
    findings.warn(use === 'write' ? warnings.writesOutside : warnings.outside, path);
    if (use === 'write') warnOfLater(run, executingPlaces.find(place.slice(1)), path);
    if (lexical !== undefined) findings.warn(warnings.linkOutside, path);
  }
}

function warnOfLater(run: ShellRun, later: NamedPlace | undefined, path: string): void {
  if (later) run.findings.warn({ id: later.id, why: `writes to a ${later.kind}`, needsPerson: true }, path);
}

function refuseSecret(run: ShellRun, path: string, name: string): void {
  const place = sensitivePlaces.find(name);
  if (!place) return;
  const reason = {
    rule: place.id,
    why: `"${readable(path)}" is a sensitive file: ${place.kind}`,
    operand: readable(path),
  };
  run.findings.refuseAs(refuse('PATH_SENSITIVE', { path: readable(path), kind: place.kind }, reason));
}

/** `.e*` means `.env`. A pattern that is too general (`*`, `.*`, `*.json`) does not count. */
function checkPattern(run: ShellRun, path: string): void {
  const components = path.toLowerCase().split('/');
  for (const [index, component] of components.entries()) {
    if (!hasPattern(component)) continue;
    const prefix = /^[^\uFDD0-\uFDEF]*/.exec(component)?.[0] ?? '';
    const suffix = /[^\uFDD0-\uFDEF]*$/.exec(component)?.[0] ?? '';
    const name = SECRET_NAMES.find((secret) => {
      if (secret.startsWith('.') !== prefix.startsWith('.')) return false;
      const known = component.replace(/[\uFDD0-\uFDEF]/g, '').length;
      return (
        known >= 2 && (prefix.length >= 2 || known >= secret.length - 1) && matchesPattern(component, secret)
      );
    });
    const isKey =
      index === components.length - 1 && /^\.(env|pem|key|p12|pfx|ppk|jks|keystore|kdbx)$/.test(suffix);
    if (name ?? isKey) refuseSecret(run, path, name ?? `x${suffix}`);
  }
}

const isHarmlessDevice = (place: string): boolean =>
  /^\/dev\/(null|zero|full|u?random|std(in|out|err)|tty|ptmx|fd\/\d+|pts\/\d+|(tcp|udp)\/.*)$/.test(place);

/** The place of VA-3 that a path with patterns may name: `.git/h*ks`, `.vsc?de/tasks.json`. */
function findLaterByPattern(path: string): NamedPlace | undefined {
  const components = path.toLowerCase().split('/').filter(Boolean);
  const last = components.at(-1) ?? '';
  return executingPlaces.places.find(
    ({ names, directories, runs }) =>
      names?.some((name) => mayName(last, name)) ||
      directories?.some((name) => components.some((component) => mayName(component, name))) ||
      runs?.some((run) => mayPassThrough(components, run.split('/'))),
  );
}

function mayPassThrough(components: readonly string[], names: readonly string[]): boolean {
  return components.some((_, start) => names.every((name, i) => mayName(components[start + i] ?? '', name)));
}

/** A pattern without the name's first character (`*`, `*.json`) does not match it; bash's `*` matches no leading dot. */
function mayName(component: string, name: string): boolean {
  return component[0] === name[0] && matchesPattern(component, name);
}

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

/** A copy has the content of the original, so that a download stays one under another name. */
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

/** A link's target is relative to the link. */
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

/**
 * TL-4 for shell lines: a line that writes content of its choosing under the name of a binary is refused, as in
 * `write_file`. Only HIGH, not refused: programs whose purpose is to make such files (compilers, linkers, `make`,
 * archivers, `dd` for disk images), because people ask for builds and the content is the program's; and commands that give
 * a file no content (`touch`, `mkdir`, `chmod`, `rm`).
 */
export const binaryNames = {
  refused: [
    'echo x > tool.exe',
    'cat a >> lib/x.so',
    'cp a b.dll',
    'mv a b.EXE',
    'tee x.bin < a',
    'install -m 755 a bin/t.exe',
    'ln -s a b.so',
    "sed -i 's/a/b/' x.sys",
    'sort -o x.bin f',
    'curl -o t.exe http://h',
    'cp lib/x.so out/',
    'cp -t out lib/x.so',
    'printf a | sponge x.bin',
    'f=x; echo a > $f.exe',
    'sh -c "echo a > x.so"',
  ],
  allowed: [
    'dd if=/dev/zero of=blank.bin bs=1k count=4',
    'gcc -shared -o libx.so x.c',
    'go build -o app.exe ./cmd',
    'rm -f old.exe',
    'touch x.bin',
    'chmod +x t.bin',
    'ls x.exe > list.txt',
    'cp x.so.txt y.txt',
    'mv a.exe a.old',
    'echo x > /tmp/y.exe',
    'cat a.bin | wc -c',
  ],
} as const;

/** Refuses to write a file of the workspace whose name is that of a binary. */
export function refuseBinaryName(run: ShellRun, path: string): void {
  const rule = writeRuleFor(path);
  if (rule.effect !== 'REJECT') return;
  const root = absoluteComponents(run.paths.root);
  const isInside = resolvePlaces(run, path).some(
    (place) => hasHole(place) || relativeInside(root, absoluteComponents(place)) !== undefined,
  );
  if (!isInside) return;
  const shown = readable(path);
  const extension = shown.slice(shown.lastIndexOf('.'));
  const reason = { rule: rule.id, why: `"${shown}" ${rule.why}`, operand: shown };
  run.findings.refuseAs(refuse('EXTENSION_REFUSED', { path: shown, extension }, reason));
}
