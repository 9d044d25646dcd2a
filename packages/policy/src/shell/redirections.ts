import type { Redirection, RedirectOperator } from 'unbash';
import { DOWNLOADED, hasHole, hasPattern, PROGRAM, UNKNOWN } from '../program/marks.ts';
import { checkFile, refuseBinaryName } from './operands.ts';
import type { ShellRun } from './shell-run.ts';
import { assignText } from './variables.ts';
import { warnings } from './warnings.ts';
import { resolvePlaces } from './word-paths.ts';
import { evaluateParts, evaluateText } from './word-values.ts';

export interface Redirected {
  /** Possible contents of standard input; undefined if it is not redirected. */
  readonly stdin: readonly string[] | undefined;
  /** The file that standard input is redirected from. */
  readonly input: string | undefined;
  /** Files that standard output is redirected to; empty if it is not redirected. */
  readonly outputs: readonly string[];
  /** Standard output goes to another descriptor, so nothing reaches the pipe. */
  readonly elsewhere: boolean;
  /** A descriptor is, or may be, a network connection. */
  readonly network: boolean;
}

/** Checks every redirection. Returns what the command reads and where its output goes. */
export function applyRedirections(run: ShellRun, redirects: readonly Redirection[]): Redirected {
  const found: Found = { stdin: undefined, input: undefined, outputs: [], elsewhere: false, network: false };
  for (const redirect of redirects) {
    const descriptor = numberOf(run, redirect);
    if (redirect.type === 'HereDoc') {
      const { parts, text } = redirect.body;
      const texts =
        parts && !redirect.delimiter?.quoted ? evaluateParts(run, parts, { quoted: true }) : [text];
      feed(run, found, descriptor, texts);
      continue;
    }
    if (!redirect.target) continue;
    const targets = evaluateText(run, redirect.target);
    if (redirect.type === 'HereString') {
      const texts = targets.map((text) => `${text}\n`);
      feed(run, found, descriptor, texts);
      continue;
    }
    for (const target of targets) redirectTo(run, found, redirect.operator, descriptor, target);
  }
  return found;
}

type Found = { -readonly [Key in keyof Redirected]: Redirected[Key] } & { outputs: string[] };

/** The descriptor before the operator. `{name}<` chooses a free descriptor and sets the variable to its number. */
function numberOf(run: ShellRun, { descriptor }: Redirection): string | undefined {
  if (descriptor?.type !== 'FileDescriptorVariable') return descriptor && String(descriptor.value);
  const free = String(10 + run.state.fileCount);
  assignText(run, descriptor.name, [free]);
  return free;
}

/** Sets what a descriptor reads: standard input, or a descriptor that `<&3` and `/dev/fd/3` can read later. */
function feed(run: ShellRun, found: Found, descriptor: string | undefined, texts: readonly string[]): void {
  if (descriptor === undefined || descriptor === '0') found.stdin = texts;
  else run.state.writeFile(descriptorFile(descriptor), texts.join('\n'));
}

function redirectTo(
  run: ShellRun,
  found: Found,
  operator: RedirectOperator,
  descriptor: string | undefined,
  target: string,
): void {
  const duplicates = operator === '>&' || operator === '<&';
  if (duplicates && (/^(\d*-?)$/.test(target) || hasHole(target))) {
    duplicate(run, found, operator, descriptor, target.replace(/-$/, ''));
    return;
  }
  if (/^\/dev\/(tcp|udp)\//.test(target)) {
    found.network = true;
    run.opensNetwork = true;
    run.findings.needNetwork();
    run.findings.warn(warnings.rawNetwork, target);
  }
  if (operator === '<' || operator === '<&') {
    checkFile(run, target, 'read');
    if (descriptor === undefined || descriptor === '0') found.input = target;
    feed(run, found, descriptor, [contentOf(run, target)]);
    return;
  }
  if (!run.sinks.has(target)) {
    checkFile(run, target, 'write');
    refuseBinaryName(run, target);
  }
  if (descriptor === undefined || descriptor === '1') found.outputs.push(target);
  else run.state.outputs.set(descriptor, target);
  if (operator === '<>') feed(run, found, descriptor === '1' ? '0' : descriptor, [contentOf(run, target)]);
}

/** Applies `<&3` and `>&3`, which refer to an earlier redirection of descriptor 3. */
function duplicate(
  run: ShellRun,
  found: Found,
  operator: RedirectOperator,
  descriptor: string | undefined,
  from: string,
): void {
  if (operator === '>&') {
    if ((descriptor ?? '1') !== '1' || from === '1') return;
    const target = run.state.outputs.get(from);
    if (target === undefined) found.elsewhere = true;
    else found.outputs.push(target);
  } else if (from !== '' && from !== '0') {
    feed(run, found, descriptor, [run.state.readFile(descriptorFile(from)) ?? UNKNOWN]);
  }
  if (run.opensNetwork && Number.parseInt(from, 10) > 2) {
    found.network = true;
    if (operator === '<&') found.stdin = [DOWNLOADED];
  }
}

/** Paths of the system's programs. */
const PROGRAM_FILE = /^\/(?:usr\/(?:local\/)?)?s?bin\/([^/\uFDD0-\uFDEF]+)$/;

/** The descriptor that a path such as `/dev/fd/3` means. */
function descriptorOf(place: string): string | undefined {
  if (place === '/dev/stdin') return '0';
  return /^\/(?:dev|proc\/(?:self|thread-self|\d+|[\uFDD0-\uFDD6\uFDDC]))\/fd\/(\d+)$/.exec(place)?.[1];
}

/** The path under which the state keeps a descriptor's content. */
export const descriptorFile = (descriptor: string): string => `/dev/fd/${descriptor}`;

/** The content of a file if this line wrote it; UNKNOWN if not. */
export function contentOf(run: ShellRun, path: string): string {
  if (path === '-') return run.stdin?.join('\n') ?? UNKNOWN;
  if (/^\/dev\/(tcp|udp)\//.test(path)) return DOWNLOADED;
  for (const place of resolvePlaces(run, path)) {
    const descriptor = descriptorOf(place);
    if (descriptor === '0') return run.stdin?.join('\n') ?? UNKNOWN;
    const content = run.state.readFile(descriptor === undefined ? place : descriptorFile(descriptor));
    if (content !== undefined) return content;
    // `sh ./*` may execute any file that this line wrote there
    const matching = hasPattern(place) && !hasHole(place) ? run.state.filesMatching(place) : [];
    if (matching.length > 0) return matching.join('\n');
    const program = PROGRAM_FILE.exec(place)?.[1];
    if (program !== undefined) return PROGRAM + program;
  }
  return UNKNOWN;
}

/** Adds text to the content of files. The old content is kept even for `>`, because the command may not run. */
export function appendTo(run: ShellRun, files: readonly string[], printed: readonly string[]): void {
  for (const file of files) {
    for (const place of resolvePlaces(run, file)) {
      const old = run.state.readFile(place);
      run.state.writeFile(place, (old === undefined ? '' : `${old}\n`) + printed.join('\n'));
    }
  }
}

/** Writes a command's output to where its redirections lead. Returns the output that is left for a pipe. */
export function deliver(
  run: ShellRun,
  redirected: Redirected,
  printed: readonly string[],
  words: readonly string[] = [],
): readonly string[] {
  appendTo(run, redirected.outputs, printed);
  if (run.sinks.size > 0) feedSinks(run, [...redirected.outputs, ...words], printed);
  if (redirected.outputs.length > 0 || redirected.elsewhere) return [''];
  return printed;
}

/** Walks the `>(…)` among the words again, with the command's output and (for `tee`) its input as standard input. */
function feedSinks(run: ShellRun, words: readonly string[], printed: readonly string[]): void {
  for (const word of words) {
    const execute = run.sinks.get(word);
    if (!execute) continue;
    run.sinks.delete(word);
    run.inSubshell(() => {
      run.stdin = [...printed, ...(run.stdin ?? [])];
      execute();
    });
  }
}
