import type { Pipeline } from 'unbash';
import { codeOptionsOfShell, interpreterOf, isShell, speaksCommands } from '../program/executed-code.ts';
import { optionFiles } from '../program/file-operands.ts';
import { nodeLookups, pythonModuleFiles } from '../program/implied-scripts.ts';
import { DOWNLOADED, HIDDEN, hasHole, madeFrom, PROGRAM, TOO_MANY, UNKNOWN } from '../program/marks.ts';
import { namesOf, readOptions } from '../program/options.ts';
import { inlineModules } from '../program/python.ts';
import { catastrophes } from './catastrophes.ts';
import { fileName } from './fork-bomb.ts';
import { executesItsInput, fetches, importedFiles, judgeInlineCode, printedLiterals } from './inline-code.ts';
import { checkFile, checkFiles, noteRunFile } from './operands.ts';
import { contentOf } from './redirections.ts';
import type { CodeOptions, ProgramCall, ShellRun } from './shell-run.ts';
import { warnings } from './warnings.ts';
import { resolvePlaces } from './word-paths.ts';

/** `sh -i | nc host`: what the shell answers goes to the network. */
export function givesShellAway(node: Pipeline): boolean {
  const names = node.commands.map((command) =>
    command.type === 'Command' ? (command.name?.value.split('/').at(-1) ?? '') : '',
  );
  const shell = names.findIndex(isShell);
  return shell >= 0 && names.slice(shell + 1).some((name) => /^(nc|ncat|netcat|socat|telnet)$/.test(name));
}

/** Code that is about to be executed: where it came from decides before what it says. */
export function judgeCode(
  run: ShellRun,
  text: string,
  options: Omit<CodeOptions, 'mustParse'>,
): readonly string[] {
  if (!mayExecute(run, text)) return [''];
  if (hasHole(text)) run.findings.warn(warnings.unknownCode);
  return run.walker.code(run, text, { mustParse: true, ...options });
}

/** Whether text may be executed at all, by where it came from. */
export function mayExecute(run: ShellRun, text: string): boolean {
  if (text.includes(DOWNLOADED)) run.findings.refuse(catastrophes.download, '');
  else if (text.includes(HIDDEN)) run.findings.refuse(catastrophes.hidden, '');
  else if (text.startsWith(TOO_MANY)) run.tooComplex('the code it executes has too many values');
  else return true;
  return false;
}

/** `sh -c …`, `bash file`, `… | bash`. */
export function judgeShell(call: ProgramCall): readonly string[] {
  return call.run.inSubshell(() => {
    call.run.state.forgetAssociative();
    return judgeNewShell(call);
  });
}

function judgeNewShell({ run, name, args }: ProgramCall): readonly string[] {
  const { flags, every, operands } = readOptions(
    args.map((word) => (/^\+[A-Za-z]/.test(word) ? `-${word.slice(1).replace('c', '') || 'e'}` : word)),
    `-o -O --rcfile --init-file ${codeOptionsOfShell(name)}`,
    { permutes: false },
  );
  for (const file of every('rcfile', 'init-file')) runFile(run, file, []);
  const lines = every(...namesOf(codeOptionsOfShell(name)));
  const printed = lines.flatMap((line) => judgeCode(run, line, { subshell: true }));
  if (lines.length > 0 && !flags.has('c')) return printed;
  if (flags.has('c')) {
    const [code = '', scriptName = 'bash', ...positional] = operands;
    return judgeCode(run, code, { subshell: true, positional, scriptName });
  }
  if (operands.length > 0 && !flags.has('s') && operands[0] !== '-') {
    const [file = '', ...positional] = operands;
    return runFile(run, file, positional);
  }
  return run.stdin?.flatMap((text) => judgeCode(run, text, { subshell: true, positional: operands })) ?? [''];
}

/** A script that a shell executes: judged by its content where this line wrote it. */
export function runFile(
  run: ShellRun,
  file: string,
  positional: readonly string[],
  { subshell = true } = {},
): readonly string[] {
  checkFile(run, file, 'run');
  const content = contentOf(run, file);
  if (content === UNKNOWN) {
    noteUnread(run, file);
    return [UNKNOWN];
  }
  // a program of the system under another name
  if (content.startsWith(PROGRAM)) {
    run.findings.warn(warnings.runsFile, file);
    return run.walker.call(run, [content.slice(PROGRAM.length).split('\n')[0] ?? '', ...positional]);
  }
  if (run.calling.includes(fileName(file))) return [UNKNOWN];
  run.calling.push(fileName(file));
  // a sourced file without words of its own sees `$1`… of the shell that reads it
  const own = subshell || positional.length > 0 ? { positional } : {};
  const printed = judgeCode(run, content, { subshell, ...own });
  run.calling.pop();
  return printed;
}

/**
 * A file is executed whose content the line does not show. Which file it is, or what the line writes into it, may only be
 * known at run time: `sh "$(cat name)"`, `date > x.sh; sh x.sh`.
 */
function noteUnread(run: ShellRun, file: string): void {
  // `cp a.sh b.sh; sh b.sh`, `sh <(cat a.sh)`: what is executed may be what this line has read before
  if (run.state.fileCount > 0 || run.findings.writesFiles) run.findings.runWhatIsRead();
  if (!mayExecute(run, file)) return;
  run.findings.warn(warnings.runsFile, file);
  const isWrittenHere = resolvePlaces(run, file).some((place) => run.state.readFile(place) !== undefined);
  if (hasHole(file) || isWrittenHere) run.findings.warn(warnings.unknownCode, file);
}

/** `python -c …`, `node x.js`, `… | perl`. */
export function judgeInterpreter(call: ProgramCall): readonly string[] {
  const { run, name, args } = call;
  const interpreter = interpreterOf(name);
  if (!interpreter) return [UNKNOWN];
  if (/^(pwsh|powershell)$/.test(name)) judgePowerShell(call);
  const words =
    name === 'deno' || name === 'bun'
      ? args.filter((word, i) => !(i === 0 && /^(run|eval|test|repl)$/.test(word)))
      : args;
  const isEval = (name === 'deno' || name === 'bun') && args[0] === 'eval';
  const options = readOptions(words, `${interpreter.code} ${interpreter.values}`, { permutes: false });
  const code = [
    ...options.every(...namesOf(interpreter.code)),
    ...(isEval ? options.operands.slice(0, 1) : []),
  ];
  checkFiles(run, optionFiles(name, args));
  // `perl -MLWP::Simple`, `ruby -ropen-uri`: what is loaded says what the code can do
  const loaded = options.every('M', 'r').join(' ');
  for (const path of code.flatMap(importedFiles)) {
    const content = contentOf(run, path);
    if (content !== UNKNOWN) executeInline(run, content);
  }
  for (const text of code) {
    if (speaksCommands(name)) executeInput(run, text);
    executeInline(run, loaded === '' ? text : `${loaded}; ${text}`);
    const isLoop = options.flags.has('n') || options.flags.has('p');
    if (executesItsInput(text, { isLoop })) for (const input of run.stdin ?? []) executeInput(run, input);
  }
  if (code.length > 0) {
    // `perl -pe … file`: what follows are files
    for (const word of options.operands) checkFile(run, word, options.flags.has('i') ? 'write' : 'read');
    const origin = code.some((text) => fetches(`${loaded} ${text}`)) ? DOWNLOADED : '';
    return [madeFrom(origin, ...(run.stdin ?? [])), ...code.flatMap(printedLiterals)];
  }
  const module = options.values.get('m');
  if (module !== undefined) {
    if (interpreter.runsModules)
      for (const path of pythonModuleFiles(module)) {
        noteRunFile(run, path);
        const content = contentOf(run, path);
        if (content !== UNKNOWN) executeInline(run, content);
      }
    for (const word of words) if (/^[./~].*\//.test(word)) checkFile(run, word, 'read');
    if (inlineModules.has(module)) for (const word of options.operands) executeInline(run, word);
    return [UNKNOWN];
  }
  const [file] = options.operands;
  // deno and bun fetch a script that is given by its address
  if ([file, ...options.every('import', 'require', 'loader')].some((word) => /^https?:/.test(word ?? '')))
    run.findings.refuse(catastrophes.download, file ?? '');
  if (file !== undefined && file !== '-' && file !== '/dev/stdin') {
    checkFile(run, file, 'run');
    if (/^(node|nodejs|bun|tsx|ts-node|deno)$/.test(name))
      for (const path of nodeLookups(file)) noteRunFile(run, path);
    for (const word of options.operands.slice(1)) if (/[./]/.test(word)) checkFile(run, word, 'read');
    const content = contentOf(run, file);
    if (content !== UNKNOWN) executeInline(run, content);
    else noteUnread(run, file);
  } else if (!/^(-v|--version|-h|--help|-V)$/.test(args[0] ?? ''))
    for (const text of run.stdin ?? []) {
      if (speaksCommands(name)) executeInput(run, text);
      executeInline(run, text);
    }
  return [UNKNOWN];
}

/** All words after `-Command` are one line; `-EncodedCommand` hides it. Either may be cut short. */
function judgePowerShell({ run, args }: ProgramCall): void {
  if (args.some((word) => /^[-/]e(c|n\w*)?$/i.test(word))) run.findings.refuse(catastrophes.hidden, '');
  const at = args.findIndex((word) => /^[-/]c(o(m\w*)?)?$/i.test(word));
  if (at >= 0) executeInput(run, args.slice(at + 1).join(' '));
}

/** Text that a program hands on to be executed, as shell or as a language of its own. */
export function executeInput(run: ShellRun, text: string): void {
  if (!mayExecute(run, text)) return;
  if (hasHole(text)) run.findings.warn(warnings.unknownCode);
  run.perhaps(() => run.walker.code(run, text, { mustParse: false, subshell: true }));
  judgeInlineCode(run, text);
}

/** Content of a file that some program executes: each line may be for a shell, behind the marks of a makefile. */
export function executeFile(run: ShellRun, content: string): void {
  if (!mayExecute(run, content)) return;
  for (const line of packageScripts(content))
    run.perhaps(() => run.walker.code(run, line, { mustParse: false, subshell: true }));
  const lines = content.split('\n').map((line) => line.replace(/^\s+[@+-]*/, ''));
  executeInput(run, lines.slice(0, 500).join('\n'));
  for (const line of lines.slice(0, 50))
    run.perhaps(() => run.walker.code(run, line, { mustParse: false, subshell: true }));
}

/** The lines of `"scripts"` in a package.json. */
function packageScripts(content: string): readonly string[] {
  if (!/^\s*\{/.test(content)) return [];
  try {
    const { scripts } = JSON.parse(content) as { scripts?: unknown };
    return Object.values(scripts ?? {}).filter((line): line is string => typeof line === 'string');
  } catch {
    return []; // not JSON, so it has no scripts
  }
}

function executeInline(run: ShellRun, text: string): void {
  if (!mayExecute(run, text)) return;
  run.findings.warn(warnings.inlineCode);
  if (hasHole(text)) run.findings.warn(warnings.unknownCode);
  judgeInlineCode(run, text);
}
