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
import { builtinFor } from './builtins.ts';
import { catastropheList, catastrophes } from './catastrophes.ts';
import {
  executeFile,
  executeInput,
  judgeCode,
  judgeInterpreter,
  judgeShell,
  runFile,
} from './nested-shells.ts';
import { checkFile, checkFiles, checkOperands, noteRunFile } from './operands.ts';
import { filtered, outputOf } from './program-output.ts';
import { contentOf } from './redirections.ts';
import type { ProgramCall, ShellRun } from './shell-run.ts';
import { judgeXargs, SPECIAL } from './special-programs.ts';
import { noteExportedFunction, setScalar } from './variables.ts';
import { warnings, warningsFor } from './warnings.ts';
import { isStarOnly, matchesPattern, resolvePlaces } from './word-paths.ts';

/** Names tried where the program is a pattern: `/bin/r?`. */
const NOTABLE = wordList(`rm sudo su doas dd mkfs shred sh bash dash zsh env find xargs chmod chown mv python3
  perl eval busybox shutdown reboot`);

const SYSTEM_PROGRAMS = /^\/(usr\/(local\/)?)?s?bin\//;

/** Decides about one program call, opening whatever it runs in turn. Returns what it may print. */
export function judgeCall(run: ShellRun, words: readonly string[]): readonly string[] {
  const [first, ...args] = words;
  if (first === undefined || run.findings.refused || !run.step()) return [''];
  run.findings.command(words.map(knownWord));
  const name = first.slice(first.lastIndexOf('/') + 1);
  if (hasHole(name) || name === '') return judgeUnknown(run, first, args);
  // `*` alone may be any file; only a more specific pattern is tried against names
  if (isStarOnly(name)) return judgeUnknown(run, first, args);
  if (hasPattern(name)) {
    run.findings.warn(warnings.unknownProgram, first);
    for (const notable of NOTABLE)
      if (matchesPattern(name, notable)) run.perhaps(() => judgeNamed({ run, name: notable, args }, notable));
    return [UNKNOWN];
  }
  const replaced = first === name ? judgeReplaced({ run, name, args }) : [];
  return [...replaced, ...run.deeper([''], () => judgeNamed({ run, name, args }, first))];
}

/**
 * A name that this line redefined: by an alias, `hash -p`, or a copy of a program in the way. Only the run knows whether
 * that counts (`\\rm`, a shell without aliases), so the program itself is judged as well.
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
  // with the directory on PATH, the file of that name is what runs
  const paths = run.state.variables.get('PATH')?.values ?? [];
  const isSearched = paths[0] !== `/${UNKNOWN}`;
  const searched = paths
    .flatMap((path) => path.split(':'))
    .filter((directory) => directory !== '' && !hasHole(directory) && !SYSTEM_PROGRAMS.test(`${directory}/`));
  for (const file of [`./${name}`, ...searched.slice(0, 16).map((directory) => `${directory}/${name}`)]) {
    const content = contentOf(run, file);
    if (content.startsWith(PROGRAM) || (isSearched && content !== UNKNOWN))
      run.perhaps(() => run.findings.quietly(() => runFile(run, file, args)));
  }
  return [];
}

/** The program is only known when it runs. If it were `rm` and that would be a catastrophe, it is one. */
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
  if (/^[a-z]/.test(name)) {
    for (const notable of NOTABLE)
      if (matchesPattern(name, notable)) run.perhaps(() => judgeNamed({ run, name: notable, args }, notable));
  }
  const call: ProgramCall = { run, name: UNKNOWN, args };
  checkOperands(call);
  return [madeFrom(...args, ...(run.stdin ?? []))];
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
  // `command` and other programs do not know functions, and one can be unset
  run.perhaps(() => run.findings.quietly(() => judgeProgram(call, path)));
  return called;
}

function judgeProgram(call: ProgramCall, path: string): readonly string[] {
  const { run, name, args } = call;
  const builtin =
    path === name || /^(echo|printf|pwd|test|\[|true|false)$/.test(name) ? builtinFor(name) : undefined;
  if (builtin) return builtin(call);
  const reading = readProgram([name, ...args], (file) => contentOf(run, file));
  for (const files of reading.runs) judgeExecuted(run, files);
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

  const special = SPECIAL.find(([names]) => names.test(name))?.[1](call);
  if (special) return special;
  if (reading.wrapper) {
    judgeTail(call);
    return printed.length > 0 ? printed : (outputOf(call) ?? [UNKNOWN]);
  }
  // `./x.sh`: a file of the workspace, judged by its content if this line wrote it
  const printedByFile =
    path.includes('/') && !SYSTEM_PROGRAMS.test(path) ? runFile(run, path, args) : undefined;
  judgeTail(call);
  checkOperands(call);
  if (printedByFile) return printedByFile;
  return isFetcher(name, args) ? followFetched(call) : (outputOf(call) ?? filtered(call));
}

/** Judges the files that a call executes, as far as this line wrote them. */
function judgeExecuted(run: ShellRun, { named, implied, surely }: ProgramReading['runs'][number]): void {
  for (const file of implied) noteRunFile(run, file);
  if (!surely) return;
  for (const file of named) {
    if (/^https?:/.test(file)) run.findings.refuse(catastrophes.download, file);
    if (file !== '-') checkFile(run, file, 'run');
  }
  for (const file of [...named, ...implied]) {
    const content = contentOf(run, file);
    if (content !== UNKNOWN) executeFile(run, content);
  }
}

/** The repository may be the one here, or that of the workspace: note the hooks of both. */
function noteHooks({ run, args }: ProgramCall): void {
  for (const top of [readGit(args).directories.at(-1) ?? '.', run.paths.root])
    for (const file of gitHookFiles) noteRunFile(run, `${top}/${file}`);
}

/** Follows a download into the file that is written, or to the output. */
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
    [...run.state.attributes.keys()].filter((one) => !known.get(one)?.includes('A')),
  );
  return printed;
}

/** Returns what they may print. */
function judgeInnerCalls(run: ShellRun, { innerCalls, wrapper }: ProgramReading): readonly string[] {
  for (const word of wrapper?.assignments ?? []) {
    const equals = word.indexOf('=');
    const value = word.slice(equals + 1);
    run.findings.environment(knownWord(word.slice(0, equals)) ?? '*');
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
    executeInput(run, inner.code);
    return [];
  }
  if ('line' in inner) {
    if (inner.certainty === 'sure') return judgeCode(run, inner.line, { subshell: true });
    return run.perhaps(() => run.walker.code(run, inner.line, { mustParse: false, subshell: true }));
  }
  const judge = (): readonly string[] => judgeCall(run, inner.words);
  if (inner.certainty === 'sure') return judge();
  return run.perhaps(inner.certainty === 'guess' ? () => run.findings.quietly(judge) : judge);
}

/** Without a program in its words, `parallel` executes every line of its input. */
function judgeParallel(call: ProgramCall): void {
  const { run, args } = call;
  if (args.every((word) => word.startsWith('-'))) for (const text of run.stdin ?? []) executeInput(run, text);
  else if (!args.includes(':::')) run.perhaps(() => judgeXargs(call));
}

/** Programs whose words are only ever text, so that `man rm` is not taken for a call of `rm`. */
const QUOTES_WORDS =
  /^(man|info|help|type|which|whereis|whatis|apropos|tldr|apt|apt-get|dnf|yum|pacman|brew|grep|egrep|fgrep|rg|ag|ack|ugrep|logger|expr|jq|git|gh|glab|docker|podman|kubectl|diff|ls|cat|cp|mv|rm|mkdir|touch|seq|make|say|figlet|dpkg|pip3?|snap|zenity|dialog|whiptail|gum|espeak|mail|look|pass|todo|task)$/;

/** Programs that some words make a catastrophe. */
const DESTROYS = /^(\/\S*\/)?(rm|dd|shred|find|mkfs\S*|sh|bash|dash|zsh|wipefs|chmod|chown|mv)$/;
const ESCALATES = /^(\/\S*\/)?(sudo|doas|pkexec|su)$/;
/** Words after `sudo` that show it is called, not only mentioned. */
const CALLED =
  /^(-\w+|(\/\S*\/)?(rm|sh|bash|dash|zsh|id|whoami|cat|ls|cp|mv|tee|dd|chmod|chown|mount|umount|kill|su|env|apt|apt-get|dnf|yum|pacman|systemctl|service|python3?|perl|node|npm|make|docker|reboot|shutdown|install|ln|mkdir|vi|vim|nano|true))$/;
/** Options whose value most wrappers give to a shell. */
const LINE_OPTION = /^--?(c|e|x|exec|execute|command|cmd|run|eval|shell|sh|call)(?:=(.+))?$/s;
/** How many words of a wrapper, and of the call in it, are judged. */
const MAX_WORDS = 64;
const MAX_TAIL = 256;

/**
 * A wrapper that we do not know, or whose options we do not know: if some of its words would be a catastrophe on their own,
 * the call is refused.
 */
function judgeTail({ run, name, args }: ProgramCall): void {
  if (QUOTES_WORDS.test(name) || isTextProgram(name)) return;
  for (const [i, word] of args.slice(0, MAX_WORDS).entries()) {
    const next = args[i + 1] ?? '';
    if (DESTROYS.test(word) || (ESCALATES.test(word) && CALLED.test(next)))
      run.perhaps(() => run.findings.quietly(() => run.walker.call(run, args.slice(i, i + MAX_TAIL))));
    const option = LINE_OPTION.exec(word);
    const line = option ? (option[2] ?? next) : '';
    if (/\s/.test(line))
      run.perhaps(() =>
        run.findings.quietly(() => run.walker.code(run, line, { mustParse: false, subshell: true })),
      );
  }
}
