import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { CountersignError } from '@countersign/protocol';
import { ExecutionCancelled } from '../runner-errors.ts';
import { ownRipgrep } from './ripgrep-program.ts';

/** A search as ripgrep takes it. Other options of ripgrep cannot be set. */
export interface RipgrepQuestion {
  /** Without one, only names are listed. */
  readonly content: string | undefined;
  /** Globs on the last component; any of them. */
  readonly names: readonly string[];
  /** Names of folders that it does not look into. */
  readonly without?: readonly string[];
  readonly hidden: boolean;
  /** Whether git ignores something here because of a directory above: it takes time to ask them all. */
  readonly ignoredFromAbove: boolean;
  /** Whether it looks into `.git`. */
  readonly gitFolder: boolean;
  readonly maxFileBytes: number;
  readonly maxMatchesPerFile: number;
  /** A text to search in place of the directory. */
  readonly text?: string;
  /** More or less: it counts what looks like one. */
  readonly maxLineCharacters: number;
}

/**
 * Runs ripgrep in a directory and hands on what it prints, piece by piece, until `take` answers false or it ends.
 *
 * It is not started through `ProcessStarter`: isolating a process costs about 10 ms and more the larger the
 * workspace is, and a search promises at most 1.3 times what plain `rg` takes. Instead it can do nothing but search: it
 * is our own binary (in an editor that editor's own), not one of the machine's; its options are fixed here, and the only words from outside stand behind `--` or in an option's value; no shell, no environment (so
 * no configuration file and no preprocessor), nothing on its standard input but a text to search; and its working directory is a
 * descriptor, so it starts in the directory that was checked. It writes nothing. It walks by names, though, and can
 * be led outside by a link that is swapped while it runs: believe nothing it says without a second look.
 */
export async function runRipgrep(
  directory: string,
  question: RipgrepQuestion,
  signal: AbortSignal,
  take: (piece: Buffer) => boolean,
  program?: string,
): Promise<void> {
  const ripgrep = program ?? (await ownRipgrep().catch(refuseStart));
  if (signal.aborted) throw new ExecutionCancelled();
  const child = start(ripgrep, directory, question);
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
    // Files that cannot be read are silent, so what it complains of is the question.
    if (!isEnough && status === 2 && complaint !== '') throw refusedPattern(question, complaint);
    if (!isEnough && status === null)
      throw new CountersignError('READ_FAILED', { path: '.', problem: 'ripgrep was stopped' });
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

function start(
  program: string,
  directory: string,
  question: RipgrepQuestion,
): ChildProcessByStdio<Writable, Readable, Readable> {
  try {
    const child = spawn(program, argumentsFor(question), {
      cwd: directory,
      env: {},
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.on('error', () => {}); // it has read enough
    child.stdin.end(question.text ?? '');
    return child;
  } catch (error) {
    return refuseStart(error);
  }
}

function refuseStart(cause: unknown): never {
  const problem = cause instanceof Error ? cause.message : String(cause);
  throw new CountersignError('SPAWN_FAILED', { program: 'ripgrep', problem }, { cause });
}

const MAX_COMPLAINT = 10_000;

function argumentsFor(question: RipgrepQuestion): string[] {
  const { content, names, without = [], hidden, ignoredFromAbove, gitFolder, maxFileBytes } = question;
  const { maxMatchesPerFile, maxLineCharacters } = question;
  return [
    ...['--no-config', '--no-messages', '--color=never', '--null', '--no-follow', '--no-pre'],
    // Ignored is what git ignores, by files of the repository alone.
    ...['--no-ignore-global', '--no-ignore-dot'],
    ...(ignoredFromAbove ? [] : ['--no-ignore-parent']),
    ...(hidden ? ['--hidden'] : []),
    ...(hidden && !gitFolder ? ['--glob=!.git'] : []),
    ...without.map((name) => `--glob=!${name}`),
    // A type, because a glob would bring back what git ignores.
    ...names.map((name) => `--type-add=wanted:${name}`),
    ...(names.length > 0 ? ['--type=wanted'] : []),
    ...(content === undefined
      ? ['--files', '--', './']
      : [
          `--max-filesize=${maxFileBytes}`,
          ...['--line-number', '--byte-offset', '--with-filename', '--no-heading'],
          `--max-count=${maxMatchesPerFile}`,
          ...[`--max-columns=${maxLineCharacters}`, '--max-columns-preview'],
          ...['--', content, question.text === undefined ? './' : '-'],
        ]),
  ];
}

function refusedPattern({ content = '' }: RipgrepQuestion, complaint: string): CountersignError {
  const problem = complaint.replace(/^rg: /, '').replaceAll(/\s+/g, ' ').trim();
  return new CountersignError('PATTERN_INVALID', { pattern: content, problem });
}
