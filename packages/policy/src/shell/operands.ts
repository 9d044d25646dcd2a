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

/** Names of secret files that a pattern is tried against. */
const SECRET_NAMES = wordList(`.env .env.local .env.production .npmrc .netrc .pypirc .pgpass .git-credentials
  .ssh .aws .gnupg .kube .azure .htpasswd .my.cnf credentials.json service-account.json id_rsa id_ed25519
  id_ecdsa`);

/** Files with secrets of the machine itself. */
const SYSTEM_SECRET =
  /^\/etc\/(g?shadow-?|sudoers(\.d\/.*)?|ssh\/ssh_host_.*key)$|^\/proc\/[^/]+\/(environ|mem)$/;

/**
 * Checks one file that a command names: refuses secrets (VA-2) and writing to devices, warns of files outside the
 * workspace and of writing to places that execute later (VA-3), and records files inside for the approval's digest.
 */
export function checkFile(
  run: ShellRun,
  path: string,
  use: CommandOperand['use'],
  secret?: FileUse['secret'],
): void {
  if (path === '' || path === '-') return;
  const { findings } = run;
  if (use === 'write' && resolvePlaces(run, path).some(mayBeDisk)) {
    findings.refuse(catastrophes.device, path);
    return;
  }
  if (hasPattern(path) && secret !== 'named') checkPattern(run, path);
  if (hasHole(path)) {
    if (use === 'write' && path.includes('/')) warnOfExecutingPlace(run, findExecutingPlace(path), path);
    const tail = path.slice(path.lastIndexOf('/') + 1);
    if (path.includes('/') && !hasHole(tail) && secret !== 'named') refuseSecret(run, path, tail);
    if (use === 'write') findings.warn(warnings.unknownTarget, path);
    return;
  }
  for (const place of resolvePlaces(run, path)) checkPlace(run, path, place, use, secret);
}

/** Records a file that is executed if it exists, for card and digest (AP-8). It adds no reason to the verdict. */
export function noteImpliedRun(run: ShellRun, path: string): void {
  if (hasHole(path) || hasPattern(path)) return;
  for (const place of resolvePlaces(run, path)) {
    if (hasMark(place)) continue;
    const lexical = relativeInside(absoluteComponents(run.paths.root), absoluteComponents(place));
    const check = lexical === undefined ? undefined : run.paths.check(lexical || '.');
    if (check?.ok && check.entry !== undefined) run.findings.addImpliedRun(check.relative);
  }
}

function checkPlace(
  run: ShellRun,
  path: string,
  place: string,
  use: CommandOperand['use'],
  secret: FileUse['secret'],
): void {
  const { findings } = run;
  if (isHarmlessDevice(place)) return;
  const lexical = relativeInside(absoluteComponents(run.paths.root), absoluteComponents(place));
  const inside = lexical === undefined ? place : lexical || '.';
  const strict = run.paths.check(inside);
  const isSensitive = !strict.ok && strict.refused.code === 'PATH_SENSITIVE';
  const check = isSensitive && secret && !hasMark(place) ? run.paths.checkName(inside) : strict;
  if (isSensitive && check.ok && secret !== 'named')
    findings.warn(secret === 'made' ? warnings.makesSecret : warnings.handsSecret, path);
  if (check.ok) {
    if (!hasMark(place)) findings.addOperand(check.relative, use);
    if (use === 'write') {
      const matching = hasPattern(place) ? findExecutingPlace(check.relative) : undefined;
      warnOfExecutingPlace(run, check.executesLater ?? matching, path);
    }
    if (check.liftedSensitive) findings.warn(warnings.lifted, path);
    return;
  }
  if (check.refused.code === 'PATH_SENSITIVE') {
    findings.refuseAs(check.refused);
    return;
  }
  if (check.refused.code === 'PATH_OUTSIDE_WORKSPACE') {
    if (refuseSecret(run, place, place.slice(1))) return;
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
    if (use === 'write') warnOfExecutingPlace(run, executingPlaces.find(place.slice(1)), path);
    if (lexical !== undefined) findings.warn(warnings.linkOutside, path);
  }
}

function warnOfExecutingPlace(run: ShellRun, place: NamedPlace | undefined, path: string): void {
  if (place) run.findings.warn({ id: place.id, why: `writes to a ${place.kind}`, needsPerson: true }, path);
}

/** Refuses the line if `name` is a sensitive file (VA-2). Returns whether it is. */
function refuseSecret(run: ShellRun, path: string, name: string): boolean {
  const place = sensitivePlaces.find(name);
  if (!place) return false;
  const reason = {
    rule: place.id,
    why: `"${readable(path)}" is a sensitive file: ${place.kind}`,
    operand: readable(path),
  };
  run.findings.refuseAs(refuse('PATH_SENSITIVE', { path: readable(path), kind: place.kind }, reason));
  return true;
}

/** Refuses a pattern that may match a secret file, such as `.e*`. A very general pattern (`*`, `.*`, `*.json`) is allowed. */
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

/** Finds a place that executes later (VA-3) that a path with patterns may match: `.git/h*ks`, `.vsc?de/tasks.json`. */
function findExecutingPlace(path: string): NamedPlace | undefined {
  const components = path.toLowerCase().split('/').filter(Boolean);
  const last = components.at(-1) ?? '';
  return executingPlaces.places.find(
    ({ names, directories, subpaths }) =>
      names?.some((name) => mayMatchName(last, name)) ||
      directories?.some((name) => components.some((component) => mayMatchName(component, name))) ||
      subpaths?.some((subpath) => mayPassThrough(components, subpath.split('/'))),
  );
}

function mayPassThrough(components: readonly string[], names: readonly string[]): boolean {
  return components.some((_, start) =>
    names.every((name, i) => mayMatchName(components[start + i] ?? '', name)),
  );
}

/** Whether a pattern may match a name. It must begin with the name's first character, so `*` and `*.json` never match. */
function mayMatchName(component: string, name: string): boolean {
  return component[0] === name[0] && matchesPattern(component, name);
}

/** Checks and records the files that a program call names (VA-2, VA-3), and follows the content that it writes to them. */
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

/** Checks files. If the pattern `.*` is one of `operands`, warns that it may match secrets. */
export function checkFiles(run: ShellRun, files: readonly FileUse[], operands: readonly string[] = []): void {
  for (const { path, use, makes, secret } of files) {
    if (makes) refuseBinaryName(run, path);
    checkFile(run, path, use, secret);
    if (/^\.[\uFDD7]$/.test(path) && operands.includes(path))
      run.findings.warn(warnings.searchesEverywhere, path);
  }
}

function warnOfRemoval({ run }: ProgramCall, operands: readonly string[]): void {
  for (const word of operands) {
    if (hasHole(word) || resolvePlaces(run, word).some(hasHole))
      run.findings.warn(warnings.unknownRemoval, word);
    else if (isStarOnly(word)) run.findings.warn(warnings.everythingHere, word);
  }
}

/** Gives each copy the content of its original, so a copied download still counts as a download. */
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

/** Records a symbolic link. Its target is relative to the directory of the link. */
function linkTo(run: ShellRun, source: string, targets: readonly string[]): void {
  if (hasHole(source)) return;
  for (const target of targets) {
    for (const place of resolvePlaces(run, target, { followLast: false })) {
      const real = source.startsWith('/') ? source : `${place}/../${source}`;
      if (!hasHole(place) && normalize(real) !== place) run.state.links.set(place, normalize(real));
    }
  }
}

const COMPILERS = /^(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|rustc|tcc|ghc|ocamlfind|swiftc|dmd|nim)$/;
const DECOMPRESSORS = /^(gunzip|gzip|unxz|xz|bunzip2|bzip2|unzstd|zstd|uncompress|lz4|brotli)$/;

/**
 * Marks a file that a compiler or gunzip makes from a download as a download. Archives are not followed, because the line
 * does not say which files are in them: the person decides about `curl … | tar xz && cd x && ./configure`.
 */
function followMadeFiles(call: ProgramCall): void {
  const { run, name, args } = call;
  if (!COMPILERS.test(name) && !DECOMPRESSORS.test(name)) return;
  const { operands, every } = readOptions(args, '-o -f --output --file');
  const read = [...operands, ...every('f', 'file')];
  const origin = originOf([...read.map((word) => contentOf(run, word)), ...(run.stdin ?? [])].join(''));
  if (origin === '') return;
  const made = operands.map((path) => path.replace(/\.[^./]+$/, ''));
  const named = COMPILERS.test(name) ? every('o') : [];
  for (const file of named.length > 0 ? named : COMPILERS.test(name) ? ['a.out', ...made] : made)
    for (const place of resolvePlaces(run, file)) run.state.writeFile(place, origin);
}

/**
 * TL-4 for shell lines: a line that writes its own content to a file with the name of a binary is refused, as by
 * `write_file`. Two groups of programs are not refused, only HIGH: programs whose purpose is to make binaries (compilers,
 * linkers, `make`, archivers, `dd` for disk images), because people ask for builds and the program determines the content;
 * and programs that write no content (`touch`, `mkdir`, `chmod`, `rm`).
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

/** Refuses to write a file of the workspace with the name of a binary (TL-4). */
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
