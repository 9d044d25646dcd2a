import { isAbsolute, join, relative } from 'node:path';
import { executingPlaces } from '@countersign/policy';
import type { ProcessRequest } from '../isolation/isolated-process.ts';
import type { CommandResult } from './run-command.ts';

/** The most lines of output that are looked at, from the end. */
const MOST_LINES = 200;
const readOnly = /read-only file system|\bEROFS\b/i;
/** What programs say, and why isolation made them say it. */
const explained: readonly (readonly [said: RegExp, why: string])[] = [
  [
    /could not read (Username|Password) for|Authentication failed for|terminal prompts disabled|Host key verification failed|Permission denied \(publickey|Could not read from remote repository|ssh: Could not resolve hostname/,
    'commands have no login of the person; git_push sends with it, and a git fetch or git pull that is the whole command fetches with it',
  ],
  [
    /invalid cross-device link|\bEXDEV\b/i,
    'a folder that was there before cannot be renamed by one system call here: copy it and delete the old one, as mv does',
  ],
  [
    // A sanitizer reserves terabytes of address space, which count as data.
    /Sanitizer failed to allocate|can not mmap the shadow memory|\bstd::bad_alloc\b|^MemoryError\b|Cannot allocate memory|\bENOMEM\b|runtime: out of memory/,
    'a process of a command may have only so much memory; the person can allow more with "commands": {"memoryBytes": …} in runner.json',
  ],
  [
    /remote unpack failed: unable to create/,
    'beside other programs git only reads a repository outside the workspace; run git push alone, or use git_push',
  ],
  [
    /CPU time limit exceeded|\bSIGXCPU\b/,
    'a process of a command may use only so much processor time; the person can allow more with "commands": {"cpuSeconds": …} in runner.json',
  ],
  [
    /File size limit exceeded|\bSIGXFSZ\b|\bEFBIG\b|: File too large/,
    'a file of a command may be only so large; the person can allow more with "commands": {"fileBytes": …} in runner.json',
  ],
  [
    /\bptrace: |\bptrace\(PTRACE_|Could not trace the inferior process|does not work under ptrace/,
    'commands cannot trace other programs (gdb, strace, LeakSanitizer); the person can run that in a terminal of their own, and ASAN_OPTIONS=detect_leaks=0 turns the last off',
  ],
];

/** A command that failed, and what isolation had kept from it. */
interface Failed extends Pick<ProcessRequest, 'confinement' | 'cwd'> {
  readonly root: string;
  /** Workspace-relative paths of files that isolation made empty for the command. */
  readonly hidden: readonly string[];
}

/**
 * Says why isolation made a command fail, as far as its output shows, and how to get access. At most one sentence of
 * each kind.
 */
export function failureNotes(
  { stdout, stderr, error = '' }: Pick<CommandResult, 'stdout' | 'stderr' | 'error'>,
  { confinement, cwd, root, hidden }: Failed,
): string[] {
  const lines = `${stdout}\n${stderr}\n${error}`.split('\n').slice(-MOST_LINES);
  const blocked = lines.find((line) => readOnly.test(line));
  const named = hidden.find((path) => lines.some((line) => namesPath(line, path)));
  return [
    ...(blocked === undefined ? [] : [readOnlyNote(placeIn(blocked, join(root, cwd)), root, confinement)]),
    ...(named === undefined
      ? []
      : [
          `"${named}" is hidden from commands that run unasked, so it was empty; a command that names it is asked about`,
        ]),
    ...explained.flatMap(([said, why]) => (lines.some((line) => said.test(line)) ? [why] : [])),
  ];
}

/** The path that the line of an error is about: in quotes, or before the error's text. */
function placeIn(line: string, folder: string): string | undefined {
  const quoted = [...line.matchAll(/['"‘`]([^'"’`]+)['"’`]/g)].map(([, text = '']) => text);
  const before = /(?:^|: |\s(?=\S*\/))([^\s:]+): read-only file system/i.exec(line)?.[1];
  const found = quoted.at(-1) ?? before;
  if (found === undefined) return undefined;
  return isAbsolute(found) ? join(found) : join(folder, found);
}

function readOnlyNote(place: string | undefined, root: string, { workspace }: Failed['confinement']): string {
  if (place === undefined)
    return 'commands can write only in the workspace and in /tmp, and not where files execute later';
  const path = relative(root, place);
  if (path.startsWith('..'))
    return `"${place}" is outside the workspace, where commands write nothing; write in the workspace or in /tmp`;
  if (workspace === 'read')
    return `"${path}" could not be written, because a command that runs unasked only reads; use a tool or a command that says that it writes, and the person is asked`;
  const kind = executingPlaces.find(path)?.kind;
  if (isGitData(path))
    return `"${path}" is of git's own data, which other programs write only beside add, commit, checkout, merge, stash, pull and the like: run this git command alone, or in a line of git commands and readers such as echo and head`;
  if (kind !== undefined)
    return `"${path}" executes later (${kind}), so commands cannot change it; change it with write_file, edit_file or delete_file, and the person is asked`;
  return `"${path}" is read-only for commands; change it with a file tool, and the person is asked`;
}

/** Whether a path is in `.git`, and not among what decides what git runs. */
export const isGitData = (path: string): boolean => /(^|\/)\.git(\/|$)/.test(path) && !gitDecides.test(path);

/** Files that decide what git runs. They are read-only for every command but git's own configuration commands. */
const gitDecides = /(^|\/)\.git\/(config|config\.worktree|commondir|hooks|modules|worktrees)(\.lock)?(\/|$)/;

const namesPath = (line: string, path: string): boolean =>
  line.includes(path) && !/[\w./-]/.test(line[line.indexOf(path) + path.length] ?? ' ');
