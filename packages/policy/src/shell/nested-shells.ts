import type { Pipeline } from 'unbash';
import { codeOptionsOfShell, interpreterOf, isShell, speaksCommands } from '../program/executed-code.ts';
import { envFilesOf, optionFiles } from '../program/file-operands.ts';
import { nodeLookups, pythonModuleFiles } from '../program/implied-scripts.ts';
import { DOWNLOADED, HIDDEN, hasHole, madeFrom, PROGRAM, TOO_MANY, UNKNOWN } from '../program/marks.ts';
import { namesOf, readOptions } from '../program/options.ts';
import { inlineModules } from '../program/python.ts';
import { catastrophes } from './catastrophes.ts';
import { scriptKey } from './fork-bomb.ts';
import { executesItsInput, fetches, importedFiles, judgeInlineCode, printedLiterals } from './inline-code.ts';
import { checkFile, checkFiles, noteImpliedRun } from './operands.ts';
import { contentOf } from './redirections.ts';
import type { CodeOptions, ProgramCall, ShellRun } from './shell-run.ts';
import { warnings } from './warnings.ts';
import { resolvePlaces } from './word-paths.ts';

/** Whether a pipeline sends a shell's output to the network: `sh -i | nc host`. */
export function pipesShellToNetwork(node: Pipeline): boolean {
  const names = node.commands.map((command) =>
    command.type === 'Command' ? (command.name?.value.split('/').at(-1) ?? '') : '',
  );
  const shell = names.findIndex(isShell);
  return shell >= 0 && names.slice(shell + 1).some((name) => /^(nc|ncat|netcat|socat|telnet)$/.test(name));
}

/** Judges code that a shell executes: first by where the text came from, then by what it says. Returns what it may print. */
export function judgeCode(
  run: ShellRun,
  text: string,
  options: Omit<CodeOptions, 'mustParse'>,
): readonly string[] {
  if (!mayExecute(run, text)) return [''];
  if (hasHole(text)) run.findings.warn(warnings.unknownCode);
  return run.walker.code(run, text, { mustParse: true, ...options });
}

/** Returns whether text may be executed, and refuses the line if not: downloaded and decoded text may not, nor text with too many values. */
export function mayExecute(run: ShellRun, text: string): boolean {
  if (text.includes(DOWNLOADED)) run.findings.refuse(catastrophes.download, '');
  else if (text.includes(HIDDEN)) run.findings.refuse(catastrophes.hidden, '');
  else if (text.startsWith(TOO_MANY)) run.tooComplex('the code it executes has too many values');
  else return true;
  return false;
}

/** Judges `sh -c …`, `bash file`, `… | bash`. */
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
  for (const file of every('rcfile', 'init-file')) judgeScript(run, file, []);
  const lines = every(...namesOf(codeOptionsOfShell(name)));
  const printed = lines.flatMap((line) => judgeCode(run, line, { subshell: true }));
  if (lines.length > 0 && !flags.has('c')) return printed;
  if (flags.has('c')) {
    const [code = '', scriptName = 'bash', ...positional] = operands;
    return judgeCode(run, code, { subshell: true, positional, scriptName });
  }
  if (operands.length > 0 && !flags.has('s') && operands[0] !== '-') {
    const [file = '', ...positional] = operands;
    return judgeScript(run, file, positional);
  }
  return run.stdin?.flatMap((text) => judgeCode(run, text, { subshell: true, positional: operands })) ?? [''];
}

/** Judges a script that a shell executes, by its content if this line wrote it. Returns what it may print. */
export function judgeScript(
  run: ShellRun,
  file: string,
  positional: readonly string[],
  { subshell = true } = {},
): readonly string[] {
  checkFile(run, file, 'run');
  const content = contentOf(run, file);
  if (content === UNKNOWN) {
    noteUnknownScript(run, file);
    return [UNKNOWN];
  }
  // a program of the system, perhaps a link to it or a copy
  if (content.startsWith(PROGRAM)) {
    run.findings.warn(warnings.runsFile, file);
    return run.walker.call(run, [content.slice(PROGRAM.length).split('\n')[0] ?? '', ...positional]);
  }
  if (run.calling.includes(scriptKey(file))) return [UNKNOWN];
  run.calling.push(scriptKey(file));
  // a sourced file without arguments sees the `$1`… of the current shell
  const own = subshell || positional.length > 0 ? { positional } : {};
  const printed = judgeCode(run, content, { subshell, ...own });
  run.calling.pop();
  return printed;
}

/**
 * Warns of a script whose content this line does not show. Its name, or the text that this line writes to it, may only
 * be known at run time: `sh "$(cat name)"`, `date > x.sh; sh x.sh`.
 */
function noteUnknownScript(run: ShellRun, file: string): void {
  // the script may consist of files that this line reads: `cp a.sh b.sh; sh b.sh`, `sh <(cat a.sh)`
  if (run.state.fileCount > 0 || run.findings.writesFiles) run.findings.countReadsAsRuns();
  if (!mayExecute(run, file)) return;
  run.findings.warn(warnings.runsFile, file);
  const isWrittenHere = resolvePlaces(run, file).some((place) => run.state.readFile(place) !== undefined);
  if (hasHole(file) || isWrittenHere) run.findings.warn(warnings.unknownCode, file);
}

/** Judges `python -c …`, `node x.js`, `… | perl`. Returns what it may print. */
export function judgeInterpreter(call: ProgramCall): readonly string[] {
  const { run, name, args } = call;
  const interpreter = interpreterOf(name);
  if (!interpreter) return [UNKNOWN];
  if (/^(pwsh|powershell)$/.test(name)) judgePowerShell(call);
  const subcommand = /^(deno|bun)$/.test(name)
    ? /^(run|eval|test|repl)$/.exec(args[0] ?? '')?.[0]
    : undefined;
  const words = subcommand === undefined ? args : args.slice(1);
  const options = readOptions(words, `${interpreter.code} ${interpreter.values}`, { permutes: false });
  const code = [
    ...options.every(...namesOf(interpreter.code)),
    ...(subcommand === 'eval' ? options.operands.slice(0, 1) : []),
  ];
  checkFiles(run, optionFiles(name, args));
  for (const file of envFilesOf(name, args)) checkFile(run, file, 'read', 'handed');
  // the names of loaded modules show what the code can do: `perl -MLWP::Simple`, `ruby -ropen-uri`
  const loaded = options.every('M', 'r').join(' ');
  for (const path of code.flatMap(importedFiles)) {
    const content = contentOf(run, path);
    if (content !== UNKNOWN) judgeForeignCode(run, content);
  }
  for (const text of code) {
    if (speaksCommands(name)) judgeExecutedText(run, text);
    judgeForeignCode(run, loaded === '' ? text : `${loaded}; ${text}`);
    const isLoop = options.flags.has('n') || options.flags.has('p');
    if (executesItsInput(text, { isLoop }))
      for (const input of run.stdin ?? []) judgeExecutedText(run, input);
  }
  if (code.length > 0) {
    // the operands are files: `perl -pe … file`
    for (const word of options.operands) checkFile(run, word, options.flags.has('i') ? 'write' : 'read');
    const origin = code.some((text) => fetches(`${loaded} ${text}`)) ? DOWNLOADED : '';
    return [madeFrom(origin, ...(run.stdin ?? [])), ...code.flatMap(printedLiterals)];
  }
  const module = options.values.get('m');
  if (module !== undefined) {
    if (interpreter.runsModules)
      for (const path of pythonModuleFiles(module)) {
        noteImpliedRun(run, path);
        const content = contentOf(run, path);
        if (content !== UNKNOWN) judgeForeignCode(run, content);
      }
    for (const word of words) if (/^[./~].*\//.test(word)) checkFile(run, word, 'read');
    if (inlineModules.has(module)) for (const word of options.operands) judgeForeignCode(run, word);
    return [UNKNOWN];
  }
  const [file] = options.operands;
  // deno and bun download a script that is given as a URL
  if ([file, ...options.every('import', 'require', 'loader')].some((word) => /^https?:/.test(word ?? '')))
    run.findings.refuse(catastrophes.download, file ?? '');
  if (file !== undefined && file !== '-' && file !== '/dev/stdin') {
    checkFile(run, file, 'run');
    if (/^(node|nodejs|bun|tsx|ts-node|deno)$/.test(name))
      for (const path of nodeLookups(file)) noteImpliedRun(run, path);
    for (const word of options.operands.slice(1)) if (/[./]/.test(word)) checkFile(run, word, 'read');
    const content = contentOf(run, file);
    if (content !== UNKNOWN) judgeForeignCode(run, content);
    else noteUnknownScript(run, file);
  } else if (!/^(-v|--version|-h|--help|-V)$/.test(args[0] ?? ''))
    for (const text of run.stdin ?? []) {
      if (speaksCommands(name)) judgeExecutedText(run, text);
      judgeForeignCode(run, text);
    }
  return [UNKNOWN];
}

/** Judges the words after `-Command`, and refuses `-EncodedCommand`, which hides them. Both options can be abbreviated. */
function judgePowerShell({ run, args }: ProgramCall): void {
  if (args.some((word) => /^[-/]e(c|n\w*)?$/i.test(word))) run.findings.refuse(catastrophes.hidden, '');
  const at = args.findIndex((word) => /^[-/]c(o(m\w*)?)?$/i.test(word));
  if (at >= 0) judgeExecutedText(run, args.slice(at + 1).join(' '));
}

/** Judges text that some program executes, both as a shell line and as code of another language. */
export function judgeExecutedText(run: ShellRun, text: string): void {
  if (!mayExecute(run, text)) return;
  if (hasHole(text)) run.findings.warn(warnings.unknownCode);
  run.perhapsCode(text);
  judgeInlineCode(run, text);
}

/** Judges a file that some program executes, such as a makefile: each line may be a shell line after `\t@`. */
export function judgeExecutedFile(run: ShellRun, content: string): void {
  if (!mayExecute(run, content)) return;
  for (const line of packageScripts(content)) run.perhapsCode(line);
  const lines = content.split('\n').map((line) => line.replace(/^\s+[@+-]*/, ''));
  judgeExecutedText(run, lines.slice(0, 500).join('\n'));
  for (const line of lines.slice(0, 50)) run.perhapsCode(line);
}

/** The commands of `"scripts"` in a package.json. */
function packageScripts(content: string): readonly string[] {
  if (!/^\s*\{/.test(content)) return [];
  try {
    const { scripts } = JSON.parse(content) as { scripts?: unknown };
    return Object.values(scripts ?? {}).filter((line): line is string => typeof line === 'string');
  } catch {
    return []; // not a package.json
  }
}

function judgeForeignCode(run: ShellRun, text: string): void {
  if (!mayExecute(run, text)) return;
  run.findings.warn(warnings.inlineCode);
  if (hasHole(text)) run.findings.warn(warnings.unknownCode);
  judgeInlineCode(run, text);
}
