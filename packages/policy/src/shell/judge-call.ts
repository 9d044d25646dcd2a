import { isInterpreter, isShell } from '../program/executed-code.ts';
import { isTextProgram } from '../program/file-operands.ts';
import { foundText, readFound } from '../program/find/find-call.ts';
import { readGit } from '../program/git/git-call.ts';
import { gitHookFiles } from '../program/implied-scripts.ts';
import {
  DOWNLOADED,
  HIDDEN,
  hasHole,
  hasPattern,
  knownWord,
  madeFrom,
  PROGRAM,
  TOO_MANY,
  UNKNOWN,
} from '../program/marks.ts';
import {
  type InnerCall,
  isFetcher,
  isFind,
  type ProgramReading,
  printsFetched,
  readProgram,
  savedFiles,
} from '../program/read-program.ts';
import { wordList } from '../text.ts';
import { judgeBuiltin } from './builtins.ts';
import { catastropheList, catastrophes } from './catastrophes.ts';
import {
  judgeCode,
  judgeExecutedFile,
  judgeExecutedText,
  judgeInterpreter,
  judgeScript,
  judgeShell,
} from './nested-shells.ts';
import { checkFile, checkFiles, checkOperands, noteImpliedRun } from './operands.ts';
import { filterOutput, outputOf } from './program-output.ts';
import { contentOf } from './redirections.ts';
import type { ProgramCall, ShellRun } from './shell-run.ts';
import { judgeXargs, SPECIAL_PROGRAMS } from './special-programs.ts';
import { noteExportedFunction, setScalar } from './variables.ts';
import { warnings, warningsFor } from './warnings.ts';
import { isStarOnly, matchesPattern, resolvePlaces } from './word-paths.ts';

/** Programs that a pattern such as `/bin/r?` is tried against. */
const DANGEROUS_PROGRAMS =
  wordList(`rm sudo su doas dd mkfs shred sh bash dash zsh env find xargs chmod chown mv python3
  perl eval busybox shutdown reboot`);

const SYSTEM_PROGRAMS = /^\/(usr\/(local\/)?)?s?bin\//;

/** Judges one program call and the calls inside it (`env`, `sh -c`). Returns what it may print. */
export function judgeCall(run: ShellRun, words: readonly string[]): readonly string[] {
  const [first, ...args] = words;
  if (first === undefined || run.findings.refused || !run.step()) return [''];
  run.findings.addCommand(words.map(knownWord), { hasInput: run.stdin !== undefined });
  const name = first.slice(first.lastIndexOf('/') + 1);
  // `*` alone may be any file: only a more specific pattern is tried against names
  if (hasHole(name) || name === '' || isStarOnly(name)) return judgeUnknown(run, first, args);
  if (hasPattern(name)) {
    run.findings.warn(warnings.unknownProgram, first);
    judgeMatching(run, name, args);
    return [UNKNOWN];
  }
  const replaced = first === name ? judgeReplaced({ run, name, args }) : [];
  return [...replaced, ...run.deeper([''], () => judgeNamed({ run, name, args }, first))];
}

/**
 * Judges what a name runs if this line redefined it: by an alias, by `hash -p`, or by a file found earlier on PATH. The
 * new meaning may not apply (`\\rm`, a shell without aliases), so the caller judges the original program too.
 */
function judgeReplaced({ run, name, args }: ProgramCall): readonly string[] {
  const words = run.state.aliases.get(name);
  if (words && !run.calling.includes(`alias ${name}`)) {
    run.calling.push(`alias ${name}`);
    const printed = run.deeper([''], () => run.perhaps(() => judgeCall(run, [...words, ...args])));
    run.calling.pop();
    return printed;
  }
  if (run.state.fileCount === 0 && run.state.links.size === 0) return [];
  // a file that this line wrote runs if its directory is on PATH
  const paths = run.state.variables.get('PATH')?.values ?? [];
  const isSearched = paths[0] !== `/${UNKNOWN}`;
  const searched = paths
    .flatMap((path) => path.split(':'))
    .filter((directory) => directory !== '' && !hasHole(directory) && !SYSTEM_PROGRAMS.test(`${directory}/`));
  for (const file of [`./${name}`, ...searched.slice(0, 16).map((directory) => `${directory}/${name}`)]) {
    const content = contentOf(run, file);
    if (content.startsWith(PROGRAM) || (isSearched && content !== UNKNOWN))
      run.perhaps(() => run.findings.quietly(() => judgeScript(run, file, args)));
  }
  return [];
}

/** Judges a program that is only known at run time. It may be `rm`, so it is refused where `rm` would be. */
function judgeUnknown(run: ShellRun, first: string, args: readonly string[]): readonly string[] {
  const { findings } = run;
  if (first.includes(DOWNLOADED)) findings.refuse(catastrophes.download, '');
  else if (first.startsWith(HIDDEN)) findings.refuse(catastrophes.hidden, '');
  else if (first.startsWith(TOO_MANY)) run.tooComplex('the program it runs has too many values');
  findings.warn(warnings.unknownProgram, first);
  const asRemoval: ProgramCall = { run, name: 'rm', args };
  for (const rule of [catastrophes.removal, catastrophes.workspace]) {
    const operand = rule.applies(asRemoval);
    if (operand !== undefined) findings.refuse(rule, operand);
  }
  const name = first.slice(first.lastIndexOf('/') + 1);
  if (/^[a-z]/.test(name)) judgeMatching(run, name, args);
  checkOperands({ run, name: UNKNOWN, args });
  return [madeFrom(...args, ...(run.stdin ?? []))];
}

function judgeMatching(run: ShellRun, pattern: string, args: readonly string[]): void {
  for (const name of DANGEROUS_PROGRAMS)
    if (matchesPattern(pattern, name)) run.perhaps(() => judgeNamed({ run, name, args }, name));
}

function judgeNamed(call: ProgramCall, path: string): readonly string[] {
  const { run, name } = call;
  for (const rule of catastropheList) {
    const operand = rule.applies?.(call);
    if (operand !== undefined) {
      run.findings.refuse(rule, operand);
      return [''];
    }
  }
  for (const warning of warningsFor(call)) run.findings.warn(warning, name);
  if (readProgram([name, ...call.args]).network) run.findings.needNetwork();

  const called = path === name ? callFunction(call) : undefined;
  if (!called) return judgeProgram(call, path);
  // the program may run instead of the function: after `unset -f`, or if `command` or `env` calls it
  run.perhaps(() => run.findings.quietly(() => judgeProgram(call, path)));
  return called;
}

function judgeProgram(call: ProgramCall, path: string): readonly string[] {
  const { run, name, args } = call;
  const isBuiltin = path === name || /^(echo|printf|pwd|test|\[|true|false)$/.test(name);
  const printedByBuiltin = isBuiltin ? judgeBuiltin(call) : undefined;
  if (printedByBuiltin) return printedByBuiltin;
  const reading = readProgram([name, ...args], (file) => contentOf(run, file));
  for (const files of reading.runs) judgeExecutedFiles(run, files);
  if (name === 'git') noteHooks(call);
  if (name === 'parallel') judgeParallel(call);
  if (isFind(name)) checkFiles(run, reading.files);
  const printed = judgeInnerCalls(run, reading);
  if (isFind(name))
    return [
      foundText(
        readFound(name, args, (file) => contentOf(run, file)),
        args,
      ),
    ];
  if (isShell(name)) return judgeShell(call);
  if (isInterpreter(name)) return judgeInterpreter(call);

  const special = SPECIAL_PROGRAMS.find(([names]) => names.test(name))?.[1](call);
  if (special) return special;
  if (reading.wrapper) {
    judgeWordsAsCalls(call);
    return printed.length > 0 ? printed : (outputOf(call) ?? [UNKNOWN]);
  }
  // a file such as `./x.sh`, not a program of the system
  const printedByFile =
    path.includes('/') && !SYSTEM_PROGRAMS.test(path) ? judgeScript(run, path, args) : undefined;
  judgeWordsAsCalls(call);
  checkOperands(call);
  if (printedByFile) return printedByFile;
  return isFetcher(name, args) ? followFetched(call) : (outputOf(call) ?? filterOutput(call));
}

/** Judges the files that a call executes: by name, and by content if this line wrote them. */
function judgeExecutedFiles(run: ShellRun, { named, implied, surely }: ProgramReading['runs'][number]): void {
  for (const file of implied) noteImpliedRun(run, file);
  if (!surely) return;
  for (const file of named) {
    if (/^https?:/.test(file)) run.findings.refuse(catastrophes.download, file);
    if (file !== '-') checkFile(run, file, 'run');
  }
  for (const file of [...named, ...implied]) {
    const content = contentOf(run, file);
    if (content !== UNKNOWN) judgeExecutedFile(run, content);
  }
}

/** Notes git's hooks as executed: of the repository that `git -C` names or of the current directory, and of the workspace. */
function noteHooks({ run, args }: ProgramCall): void {
  for (const top of [readGit(args).directories.at(-1) ?? '.', run.paths.root])
    for (const file of gitHookFiles) noteImpliedRun(run, `${top}/${file}`);
}

/** Marks the output of a download, and the files that it saves, as DOWNLOADED. */
function followFetched({ run, name, args }: ProgramCall): readonly string[] {
  for (const { path } of savedFiles(name, args))
    for (const place of resolvePlaces(run, path)) run.state.writeFile(place, DOWNLOADED);
  return [printsFetched(name, args) ? DOWNLOADED : UNKNOWN];
}

function callFunction({ run, name, args }: ProgramCall): readonly string[] | undefined {
  const definition = run.state.functions.get(name);
  if (!definition) return undefined;
  if (run.calling.includes(name)) return [UNKNOWN];
  const { positional, otherPositionals } = run.state;
  const known = new Map(run.state.attributes);
  run.state.positional = args;
  run.state.otherPositionals = [];
  run.calling.push(name);
  const printed = run.walker.node(run, definition.body);
  run.calling.pop();
  run.state.positional = positional;
  run.state.otherPositionals = otherPositionals;
  run.state.forgetAssociative(
    [...run.state.attributes.keys()].filter((variable) => !known.get(variable)?.includes('A')),
  );
  return printed;
}

/** Judges the calls that a program makes, in the environment that a wrapper such as `env` gives. Returns what they print. */
function judgeInnerCalls(run: ShellRun, { innerCalls, wrapper }: ProgramReading): readonly string[] {
  for (const word of wrapper?.assignments ?? []) {
    const equals = word.indexOf('=');
    const value = word.slice(equals + 1);
    run.findings.addEnvironment(knownWord(word.slice(0, equals)) ?? '*');
    noteExportedFunction(run, word.slice(0, equals), value);
    setScalar(run, word.slice(0, equals), [value]);
  }
  const directory = wrapper?.directory;
  if (directory === undefined) return innerCalls.flatMap((inner) => judgeInner(run, inner));
  checkFile(run, directory, 'read');
  return run.inSubshell(() => {
    judgeCall(run, ['cd', directory]);
    return innerCalls.flatMap((inner) => judgeInner(run, inner));
  });
}

function judgeInner(run: ShellRun, inner: InnerCall): readonly string[] {
  if ('code' in inner) {
    judgeExecutedText(run, inner.code);
    return [];
  }
  if ('line' in inner) {
    if (inner.certainty === 'sure') return judgeCode(run, inner.line, { subshell: true });
    return run.perhapsCode(inner.line);
  }
  const judge = (): readonly string[] => judgeCall(run, inner.words);
  if (inner.certainty === 'sure') return judge();
  return run.perhaps(inner.certainty === 'guess' ? () => run.findings.quietly(judge) : judge);
}

/** `parallel` without a program executes every line of its input. */
function judgeParallel(call: ProgramCall): void {
  const { run, args } = call;
  if (args.every((word) => word.startsWith('-')))
    for (const text of run.stdin ?? []) judgeExecutedText(run, text);
  else if (!args.includes(':::')) run.perhaps(() => judgeXargs(call));
}

/** Programs that never execute their words: `man rm` is not a call of `rm`. */
const QUOTES_WORDS =
  /^(man|info|help|type|which|whereis|whatis|apropos|tldr|apt|apt-get|dnf|yum|pacman|brew|grep|egrep|fgrep|rg|ag|ack|ugrep|logger|expr|jq|git|gh|glab|docker|podman|kubectl|diff|ls|cat|cp|mv|rm|mkdir|touch|seq|make|say|figlet|dpkg|pip3?|snap|zenity|dialog|whiptail|gum|espeak|mail|look|pass|todo|task)$/;

/** Programs that are a catastrophe with some words. */
const DESTROYS = /^(\/\S*\/)?(rm|dd|shred|find|mkfs\S*|sh|bash|dash|zsh|wipefs|chmod|chown|mv)$/;
const ESCALATES = /^(\/\S*\/)?(sudo|doas|pkexec|su)$/;
/** Words after `sudo` that show that it is called, not just mentioned. */
const SUDO_CALL_WORDS =
  /^(-\w+|(\/\S*\/)?(rm|sh|bash|dash|zsh|id|whoami|cat|ls|cp|mv|tee|dd|chmod|chown|mount|umount|kill|su|env|apt|apt-get|dnf|yum|pacman|systemctl|service|python3?|perl|node|npm|make|docker|reboot|shutdown|install|ln|mkdir|vi|vim|nano|true))$/;
/** Options whose value most wrappers pass to a shell. */
const LINE_OPTION = /^--?(c|e|x|exec|execute|command|cmd|run|eval|shell|sh|call)(?:=(.+))?$/s;
/** How many words of a wrapper are tried as the start of a call, and how many words such a call has at most. */
const MAX_WORDS = 64;
const MAX_TAIL = 256;

/**
 * Judges the words of a program that may be an unknown wrapper, or a wrapper with unknown options: the call is refused if
 * some of its words would be a catastrophe as a call of their own.
 */
function judgeWordsAsCalls({ run, name, args }: ProgramCall): void {
  if (QUOTES_WORDS.test(name) || isTextProgram(name)) return;
  for (const [i, word] of args.slice(0, MAX_WORDS).entries()) {
    const next = args[i + 1] ?? '';
    if (DESTROYS.test(word) || (ESCALATES.test(word) && SUDO_CALL_WORDS.test(next)))
      run.perhaps(() => run.findings.quietly(() => judgeCall(run, args.slice(i, i + MAX_TAIL))));
    const option = LINE_OPTION.exec(word);
    const line = option ? (option[2] ?? next) : '';
    if (/\s/.test(line)) run.findings.quietly(() => run.perhapsCode(line));
  }
}
