import type { Redirection } from 'unbash';
import { catastrophes } from './catastrophes.ts';
import { DOWNLOADED, UNKNOWN } from './marks.ts';
import { checkFile } from './operands.ts';
import { isDevice, resolvePlaces } from './places.ts';
import type { ShellRun } from './shell-run.ts';
import { warnings } from './warnings.ts';
import { evaluateParts, evaluateText } from './word-values.ts';

export interface Redirected {
  readonly stdin: readonly string[] | undefined;
  /** The file that standard input is. */
  readonly input: string | undefined;
  /** Where standard output goes; empty when it stays. */
  readonly outputs: readonly string[];
  /** Standard output goes to another descriptor, so that nothing reads it. */
  readonly elsewhere: boolean;
  /** A descriptor is, or may be, a network connection. */
  readonly network: boolean;
}

/** Checks every redirection and tells what the command reads and where its output goes. */
export function applyRedirections(run: ShellRun, redirects: readonly Redirection[]): Redirected {
  let stdin: readonly string[] | undefined;
  const outputs: string[] = [];
  let input: string | undefined;
  let elsewhere = false;
  let network = false;
  for (const redirect of redirects) {
    const descriptor = redirect.descriptor?.type === 'FileDescriptor' ? redirect.descriptor.value : undefined;
    if (redirect.type === 'HereDoc') {
      const { parts, text } = redirect.body;
      stdin = parts && !redirect.delimiter?.quoted ? evaluateParts(run, parts, { quoted: true }) : [text];
      continue;
    }
    if (!redirect.target) continue;
    const targets = evaluateText(run, redirect.target);
    if (redirect.type === 'HereString') {
      stdin = targets.map((text) => `${text}\n`);
      continue;
    }
    const duplicates = redirect.operator === '>&' || redirect.operator === '<&';
    for (const target of targets) {
      if (duplicates && /^(\d*-?)$/.test(target)) {
        if (redirect.operator === '>&' && (descriptor ?? 1) === 1 && target !== '1') elsewhere = true;
        if (run.opensNetwork && Number.parseInt(target, 10) > 2) {
          network = true;
          if (redirect.operator === '<&') stdin = [DOWNLOADED];
        }
        continue;
      }
      if (/^\/dev\/(tcp|udp)\//.test(target)) {
        network = true;
        run.opensNetwork = true;
        run.findings.needNetwork();
        run.findings.warn(warnings.rawNetwork, target);
      }
      if (redirect.operator === '<' || redirect.operator === '<&') {
        checkFile(run, target, 'read');
        input = target;
        stdin = [contentOf(run, target)];
      } else {
        for (const place of resolvePlaces(run, target)) {
          if (isDevice(place)) run.findings.refuse(catastrophes.device, target);
        }
        if (!run.sinks.has(target)) checkFile(run, target, 'write');
        if (descriptor === undefined || descriptor === 1) outputs.push(target);
        if (redirect.operator === '<>') stdin = [contentOf(run, target)];
      }
    }
  }
  return { stdin, input, outputs, elsewhere, network };
}

/** What a file holds, if this line wrote it. */
export function contentOf(run: ShellRun, path: string): string {
  if (path === '/dev/stdin' || path === '/dev/fd/0' || path === '-') return run.stdin?.join('\n') ?? UNKNOWN;
  if (/^\/dev\/(tcp|udp)\//.test(path)) return DOWNLOADED;
  for (const place of resolvePlaces(run, path)) {
    const content = run.state.files.get(place);
    if (content !== undefined) return content;
  }
  return UNKNOWN;
}

/** Hands a command's output to where its redirections send it; answers what is left for a pipe. */
export function deliver(
  run: ShellRun,
  redirected: Redirected,
  printed: readonly string[],
  words: readonly string[] = [],
): readonly string[] {
  for (const output of redirected.outputs) {
    for (const place of resolvePlaces(run, output)) {
      const old = run.state.files.get(place);
      run.state.writeFile(place, (old === undefined ? '' : `${old}\n`) + printed.join('\n'));
    }
  }
  if (run.sinks.size > 0) feedSinks(run, [...redirected.outputs, ...words], printed);
  if (redirected.outputs.length > 0 || redirected.elsewhere) return [''];
  return printed;
}

/** `>(…)` reads what the command it belongs to writes; for `tee` and the like that is also what it was given. */
function feedSinks(run: ShellRun, words: readonly string[], printed: readonly string[]): void {
  for (const word of words) {
    const script = run.sinks.get(word);
    if (!script) continue;
    run.sinks.delete(word);
    run.inSubshell(() => {
      run.stdin = [...printed, ...(run.stdin ?? [])];
      run.walker.script(run, script);
    });
  }
}
