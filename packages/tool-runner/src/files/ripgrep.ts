import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { CountersignError, messageOf } from '@countersign/protocol';
import { ExecutionCancelled } from '../runner-errors.ts';
import { ownRipgrep } from './ripgrep-program.ts';

/** The parameters of a search. All other options of ripgrep are fixed. */
export interface RipgrepQuery {
  /** A regular expression. If undefined, ripgrep only lists file names. */
  readonly content: string | undefined;
  /** Globs for the last path component. A file matches if any glob matches. */
  readonly names: readonly string[];
  /** Names of folders to skip. */
  readonly without?: readonly string[];
  readonly hidden: boolean;
  /** Whether ignore files of parent directories apply. Reading them takes time. */
  readonly ignoredFromAbove: boolean;
  /** Whether to search in `.git`. */
  readonly gitFolder: boolean;
  readonly maxFileBytes: number;
  readonly maxMatchesPerFile: number;
  /** A text to search instead of the directory. */
  readonly text?: string;
  /** Approximate, because ripgrep counts grapheme clusters. */
  readonly maxLineCharacters: number;
}

/**
 * Runs ripgrep in a directory and passes its output to `take`, until `take` returns false or ripgrep ends.
 *
 * ripgrep is not isolated: isolation takes 10 ms or more, and a search may take at most 1.3 times as long as plain `rg`.
 * Instead, the call is restricted: the binary is our own or the editor's; options are fixed here, and words from outside
 * appear only after `--` or as an option's value; there is no shell and no environment, so no configuration file and no
 * preprocessor; standard input is empty or the text to search; the working directory is a descriptor of the directory
 * that was checked. ripgrep writes nothing. But it walks by names, and a link that is swapped meanwhile can lead it
 * outside: the caller must verify each result.
 */
export async function runRipgrep(
  directory: string,
  query: RipgrepQuery,
  signal: AbortSignal,
  take: (piece: Buffer) => boolean,
  program?: string,
): Promise<void> {
  const ripgrep = program ?? (await ownRipgrep().catch(refuseStart));
  if (signal.aborted) throw new ExecutionCancelled();
  const child = start(ripgrep, directory, query);
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  let complaint = '';
  let isEnough = false;
  let failure: unknown;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (complaint.length < MAX_COMPLAINT) complaint += text;
  });
  child.stdout.on('data', (piece: Buffer) => {
    if (isEnough) return;
    try {
      isEnough = !take(piece);
    } catch (error) {
      failure = error;
      isEnough = true;
    }
    if (isEnough) kill();
  });
  try {
    const [status] = (await once(child, 'close').catch(refuseStart)) as [number | null];
    if (signal.aborted) throw new ExecutionCancelled();
    if (failure !== undefined) throw failure;
    // With --no-messages, ripgrep does not report unreadable files: an error message is about the pattern.
    if (!isEnough && status === 2 && complaint !== '') throw refusedPattern(query, complaint);
    if (!isEnough && status === null)
      throw new CountersignError('READ_FAILED', { path: '.', problem: 'ripgrep was stopped' });
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

function start(
  program: string,
  directory: string,
  query: RipgrepQuery,
): ChildProcessByStdio<Writable, Readable, Readable> {
  try {
    const child = spawn(program, argumentsFor(query), {
      cwd: directory,
      env: {},
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.on('error', () => {}); // ripgrep may exit before it has read everything
    child.stdin.end(query.text ?? '');
    return child;
  } catch (error) {
    return refuseStart(error);
  }
}

function refuseStart(cause: unknown): never {
  const problem = messageOf(cause);
  throw new CountersignError('SPAWN_FAILED', { program: 'ripgrep', problem }, { cause });
}

const MAX_COMPLAINT = 10_000;

function argumentsFor(query: RipgrepQuery): string[] {
  const { content, names, without = [], hidden, ignoredFromAbove, gitFolder, maxFileBytes } = query;
  const { maxMatchesPerFile, maxLineCharacters } = query;
  return [
    ...['--no-config', '--no-messages', '--color=never', '--null', '--no-follow', '--no-pre'],
    // Use only the repository's own rules: not the person's global gitignore, not .ignore files.
    ...['--no-ignore-global', '--no-ignore-dot'],
    ...(ignoredFromAbove ? [] : ['--no-ignore-parent']),
    ...(hidden ? ['--hidden'] : []),
    ...(hidden && !gitFolder ? ['--glob=!.git'] : []),
    ...without.map((name) => `--glob=!${name}`),
    // Use file types, because --glob would include files that git ignores.
    ...names.map((name) => `--type-add=wanted:${name}`),
    ...(names.length > 0 ? ['--type=wanted'] : []),
    ...(content === undefined
      ? ['--files', '--', './']
      : [
          `--max-filesize=${maxFileBytes}`,
          ...['--line-number', '--byte-offset', '--with-filename', '--no-heading'],
          `--max-count=${maxMatchesPerFile}`,
          ...[`--max-columns=${maxLineCharacters}`, '--max-columns-preview'],
          ...['--', content, query.text === undefined ? './' : '-'],
        ]),
  ];
}

function refusedPattern({ content = '' }: RipgrepQuery, complaint: string): CountersignError {
  const problem = complaint.replace(/^rg: /, '').replaceAll(/\s+/g, ' ').trim();
  return new CountersignError('PATTERN_INVALID', { pattern: content, problem });
}
