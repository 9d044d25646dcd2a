import { DOWNLOADED, hasHole, madeFrom, UNKNOWN } from '../program/marks.ts';
import { readOptions } from '../program/options.ts';
import { catastrophes } from './catastrophes.ts';
import { Findings } from './findings.ts';
import { judgeInlineCode, printedLiterals } from './inline-code.ts';
import { judgeCode, judgeExecutedText, mayExecute } from './nested-shells.ts';
import { checkFile, checkOperands } from './operands.ts';
import { filterOutput, inputsOf } from './program-output.ts';
import { contentOf } from './redirections.ts';
import { type ProgramCall, ShellRun } from './shell-run.ts';
import { warnings } from './warnings.ts';

/** Programs that execute other programs in a special way. If `judge` returns undefined, the call is also judged as usual. */
export const SPECIAL_PROGRAMS: readonly [
  names: RegExp,
  judge: (call: ProgramCall) => readonly string[] | undefined,
][] = [
  [/^g?xargs$/, judgeXargs],
  [/^ssh$/, judgeSsh],
  [/^[gmn]?awk$/, judgeAwk],
  [/^g?sed$/, judgeSed],
  [/^(ed|ex|vim?|ftp|sqlite3)$/, judgeEditor],
  [/^(at|batch|crontab)$/, judgeScheduled],
];

function judgeSsh(call: ProgramCall): readonly string[] {
  const { run, args } = call;
  const { operands, values } = readOptions(
    args,
    '-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w',
    { permutes: false },
  );
  const [host = '', ...command] = operands;
  run.findings.warn(warnings.remote, host);
  for (const letter of ['i', 'F']) {
    const file = values.get(letter);
    if (file !== undefined) checkFile(run, file, 'read');
  }
  const isLocal = /(^|@)(localhost|127\.[\d.]+|::1|0\.0\.0\.0)$/.test(host);
  for (const text of command.length > 0 ? [command.join(' ')] : (run.stdin ?? []))
    if (isLocal) judgeCode(run, text, { subshell: true });
    else judgeRemote(run, text);
  return [DOWNLOADED];
}

/** Judges a line for another machine: `sudo` is allowed there, but wiping the machine is refused. */
function judgeRemote(run: ShellRun, line: string): void {
  const findings = new Findings();
  const { paths, walker, home } = run;
  const there = new ShellRun({ findings, paths, directory: home, home }, walker);
  walker.code(there, line.replace(/(^|[;&|]\s*)(sudo|doas)\s+(?!-)/g, '$1'), {
    mustParse: false,
    subshell: true,
  });
  const { verdict } = findings.toCheck();
  const { removal, forkBomb, device, format } = catastrophes;
  const rule = [removal, forkBomb, device, format].find(({ id }) => verdict.reasons[0]?.rule === id);
  if (rule) run.findings.refuse(rule, line);
}

/** Judges the shell lines that editors and the like execute: `!line`, and `.shell line` of sqlite3. */
function judgeEditor({ run, args }: ProgramCall): undefined {
  for (const text of [...(run.stdin ?? []), ...args]) {
    if (text.includes(DOWNLOADED)) continue; // a download is the text to edit, not commands
    for (const [, line = ''] of text.matchAll(/^[ \t]{0,9}(?::?!|\.(?:shell|system)[ \t])(.+)/gm))
      judgeExecutedText(run, line);
  }
  return undefined;
}

/** Judges the input of `at` and `crontab`, which execute it later without asking. */
function judgeScheduled(call: ProgramCall): readonly string[] {
  const { run, name, args } = call;
  if (args.some((word) => /^-[lcq]$/.test(word))) return [UNKNOWN];
  run.findings.warn(warnings.scheduled, name);
  for (const text of run.stdin ?? []) {
    const code = name === 'crontab' ? text.replace(/^\s{0,9}(?:\S+[ \t]+){5}/gm, '') : text;
    run.perhaps(() => judgeCode(run, code, { subshell: true }));
  }
  checkOperands(call);
  return [''];
}

/** Judges the program that `xargs` calls, with the words of its input. */
export function judgeXargs({ run, args }: ProgramCall): readonly string[] {
  const { operands, values, every, flags } = readOptions(
    args,
    '-I -L -n -P -s -d -a -E --max-args --max-procs --delimiter --arg-file --max-chars --process-slot-var',
    { optionalValues: '-i -l -e', permutes: false },
  );
  const files = every('a', 'arg-file');
  for (const file of files) checkFile(run, file, 'read');
  const program = operands.length > 0 ? operands : ['echo'];
  const placeholder =
    values.get('I') ||
    values.get('i') ||
    values.get('replace') ||
    (flags.has('i') || flags.has('replace') ? '{}' : undefined);
  const delimiter =
    flags.has('0') || flags.has('null')
      ? '\u0000'
      : (values.get('d') ?? values.get('delimiter'))?.replace('\\n', '\n').replace(/^\\0$/, '\u0000');
  const printed: string[] = [];
  for (const text of files.length > 0
    ? files.map((file) => contentOf(run, file))
    : (run.stdin ?? [UNKNOWN])) {
    const items = itemsOf(text, delimiter, placeholder !== undefined);
    const calls =
      placeholder === undefined
        ? [[...program, ...items]]
        : items.slice(0, 50).map((item) => program.map((word) => word.replaceAll(placeholder, item)));
    for (const words of calls) printed.push(...run.perhaps(() => run.walker.call(run, words)));
  }
  return printed.length > 0 ? printed.slice(0, 16) : [''];
}

function itemsOf(text: string, delimiter: string | undefined, byLine: boolean): string[] {
  const pieces =
    delimiter !== undefined && delimiter !== ''
      ? text.split(delimiter).map((item) => item.replace(/\n$/, ''))
      : text.replaceAll('\u0000', '\n').split(byLine ? '\n' : /\s+/);
  return pieces
    .filter((item) => item !== '')
    .slice(0, 200)
    .map((item) =>
      hasHole(item) && !item.includes('/')
        ? madeFrom(item)
        : delimiter === undefined // without -d and -0, xargs removes quotes and backslashes
          ? item.replace(/^(['"])(.*)\1$/, '$2').replace(/\\(.)/g, '$1')
          : item,
    );
}

/** `system(…)`, a pipe or `getline` whose command is not a quoted text: the input determines the command. */
const AWK_RUNS_INPUT =
  /\bsystem\s*\((?!\s*"[^"]*"\s*\))|[\w$)\]]\s*\|&?\s*getline|(?<!\|)\|&?\s*(?!getline\b)[A-Za-z_$(]/;

/** Judges an awk script: `system`, pipes and `getline` execute, and `>` writes. */
function judgeAwk(call: ProgramCall): readonly string[] {
  const { run, args } = call;
  const { operands, every } = readOptions(args, '-f -v -F -e -i --file --source --field-separator --assign', {
    permutes: false,
  });
  const given = [...every('e', 'source'), ...every('f', 'file').map((file) => contentOf(run, file))];
  const script = given.length > 0 ? given.join('\n') : (operands[0] ?? '');
  const printed: string[] = [];
  if (script !== '' && mayExecute(run, script)) {
    if (/\bsystem\b|\||getline/.test(script))
      judgeInlineCode(
        run,
        script.replace(/\||getline/g, (word) => `${word} system `),
      );
    if (/\bsystem\s*\(/.test(script) || AWK_RUNS_INPUT.test(script)) run.findings.warn(warnings.inlineCode);
    if (AWK_RUNS_INPUT.test(script))
      for (const text of [...inputsOf(call), ...awkVariables(args)]) judgeExecutedText(run, text);
    for (const target of script.matchAll(/>>?\s*"([^"]{1,200})"/g)) checkFile(run, target[1] ?? '', 'write');
    printed.push(...printedLiterals(script));
  }
  checkOperands(call);
  return [...filterOutput(call), ...printed];
}

/** The values of `-v name=value`. */
const awkVariables = (args: readonly string[]): readonly string[] =>
  args.flatMap((word, index) => {
    const assigned = word === '-v' || word === '--assign' ? (args[index + 1] ?? '') : word;
    return /^(?:-v)?[A-Za-z_]\w*=(.*)$/s.exec(assigned)?.[1] ?? [];
  });

/** The command `e`, or the flag `e` of `s`, executes the text that sed has read. */
const SED_RUNS_INPUT =
  /(?:^|[;{}\n\d$/!,])\s*e\s*(?:$|[;}\n])|s([^\w\s\\])(?:\\.|(?!\1)[^\\])*\1((?:\\.|(?!\1)[^\\])*)\1\w*e/s;

/** Judges a GNU sed script: `e` executes, and `w` writes. */
function judgeSed(call: ProgramCall): readonly string[] {
  const { run, args } = call;
  const { operands, every } = readOptions(args, '-e -f -l --expression --file');
  const scripts = [
    ...every('e', 'expression'),
    ...operands.slice(0, 1),
    ...every('f', 'file').map((file) => contentOf(run, file)),
  ];
  for (const script of new Set(scripts)) {
    if (script.length > 4_096) continue;
    const code = /(?:^|[;{}\n\d$/!,])\s*e\s+([^\n]+)/.exec(script)?.[1];
    if (code !== undefined) run.perhapsCode(code);
    const executes = SED_RUNS_INPUT.exec(script);
    const replacement = executes?.[2]?.replace(/\\(.)/g, '$1') ?? '';
    if (executes) for (const text of [...inputsOf(call), replacement]) judgeExecutedText(run, text);
    const target = /(?:^|[;{}\n\d$/!,gpI])\s*[wW]\s+(\S+)/.exec(script)?.[1];
    if (target !== undefined) checkFile(run, target, 'write');
  }
  checkOperands(call);
  const prefix =
    scripts.length > 0 && scripts.every((script) => SED_PREFIX.test(script))
      ? SED_PREFIX.exec(scripts[0] as string)?.[2]
      : undefined;
  if (prefix === undefined) return filterOutput(call);
  // `s|^|/|` puts a prefix before every line
  return inputsOf(call).map((text) => text.replace(/^(?=[^\n])/gm, prefix.replace(/\\(.)/g, '$1')));
}

const SED_PREFIX = /^s([^\w\s\\])\^\1((?:\\.|(?!\1)[^\\\n])*)\1g?$/;
