import { builtinFor } from './builtins.ts';
import { readOptions } from './call-options.ts';
import { catastropheList, catastrophes } from './catastrophes.ts';
import { codeInOptions } from './code-options.ts';
import { isFetcher, judgeFetch, needsNetwork } from './downloads.ts';
import { filtered } from './filters.ts';
import { foundNames, readFind } from './find-call.ts';
import { judgeInlineCode } from './inline-code.ts';
import { DOWNLOADED, HIDDEN, hasHole, hasPattern, knownWord, madeFrom, TOO_MANY, UNKNOWN } from './marks.ts';
import { isInterpreter, isShell, judgeCode, judgeInterpreter, judgeShell, runFile } from './nested-shells.ts';
import { checkFile } from './operands.ts';
import { matchesPattern } from './pattern.ts';
import type { ProgramCall } from './program-call.ts';
import { checkOperands } from './program-operands.ts';
import { contentOf } from './redirections.ts';
import type { ShellRun } from './shell-run.ts';
import { warnings, warningsFor } from './warnings.ts';
import { openWrapper } from './wrappers.ts';

/** Names tried where the program is a pattern: `/bin/r?`. */
const NOTABLE = [
  'rm',
  'sudo',
  'su',
  'doas',
  'dd',
  'mkfs',
  'shred',
  'sh',
  'bash',
  'dash',
  'zsh',
  'env',
  'find',
  'xargs',
  'chmod',
  'chown',
  'mv',
  'python3',
  'perl',
  'eval',
  'busybox',
  'shutdown',
  'reboot',
];

/** Decides about one program call, opening whatever it runs in turn. Answers what it may print. */
export function judgeCall(run: ShellRun, words: readonly string[]): readonly string[] {
  const [first, ...args] = words;
  if (first === undefined || run.findings.refused || !run.step()) return [''];
  run.findings.command(words.map(knownWord));
  const name = first.slice(first.lastIndexOf('/') + 1);
  if (hasHole(name) || name === '') return judgeUnknown(run, first, args);
  if (hasPattern(name)) {
    run.findings.warn(warnings.unknownProgram, first);
    for (const notable of NOTABLE)
      if (matchesPattern(name, notable)) run.perhaps(() => judgeNamed({ run, name: notable, args }, notable));
    return [UNKNOWN];
  }
  return run.deeper([''], () => judgeNamed({ run, name, args }, first));
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
  const { run, name, args } = call;
  for (const rule of catastropheList) {
    const operand = rule.applies?.(call);
    if (operand !== undefined) {
      run.findings.refuse(rule, operand);
      return [''];
    }
  }
  for (const warning of warningsFor(call)) run.findings.warn(warning, name);
  if (needsNetwork(call)) run.findings.needNetwork();

  const called = path === name ? callFunction(call) : undefined;
  if (called) return called;
  const builtin =
    path === name || /^(echo|printf|pwd|test|\[|true|false)$/.test(name) ? builtinFor(name) : undefined;
  if (builtin) return builtin(call);
  if (isShell(name)) return judgeShell(call);
  if (isInterpreter(name)) return judgeInterpreter(call);

  for (const code of codeInOptions(name, args))
    run.perhaps(() => run.walker.code(run, code, { mustParse: false, subshell: true }));
  const special = judgeSpecial(call);
  if (special) return special;
  const opened = judgeWrapper(call);
  if (opened) return opened;
  if (path.includes('/') && !/^\/(usr\/(local\/)?)?s?bin\//.test(path)) return runOwnFile(call, path);
  judgeTail(call);
  checkOperands(call);
  return isFetcher(name) ? judgeFetch(call) : filtered(call);
}

function callFunction({ run, name, args }: ProgramCall): readonly string[] | undefined {
  const definition = run.state.functions.get(name);
  if (!definition) return undefined;
  if (run.calling.includes(name)) return [UNKNOWN];
  const { positional, otherPositionals } = run.state;
  run.state.positional = args;
  run.state.otherPositionals = [];
  run.calling.push(name);
  const printed = run.walker.node(run, definition.body);
  run.calling.pop();
  run.state.positional = positional;
  run.state.otherPositionals = otherPositionals;
  return printed;
}

/** `./x.sh`: a file of the workspace, judged by its content where this line wrote it. */
function runOwnFile(call: ProgramCall, path: string): readonly string[] {
  const printed = runFile(call.run, path, call.args);
  checkOperands(call);
  return printed;
}

function judgeWrapper({ run, name, args }: ProgramCall): readonly string[] | undefined {
  const opened = openWrapper(name, args);
  if (!opened) return undefined;
  for (const word of opened.assignments) {
    const equals = word.indexOf('=');
    run.findings.quietly(() =>
      run.walker.call(run, ['export', `${word.slice(0, equals)}=${word.slice(equals + 1)}`]),
    );
  }
  const printed = opened.calls.flatMap((words, index) =>
    index === 0
      ? judgeCall(run, words)
      : run.perhaps(() => run.findings.quietly(() => judgeCall(run, words))),
  );
  const codeOptions = { subshell: true };
  printed.push(...opened.code.flatMap((code) => judgeCode(run, code, codeOptions)));
  return printed.length > 0 ? printed : [UNKNOWN];
}

/** Programs that run others in a way of their own. */
function judgeSpecial(call: ProgramCall): readonly string[] | undefined {
  switch (call.name) {
    case 'xargs':
    case 'gxargs':
      return judgeXargs(call);
    case 'find':
    case 'gfind':
      return judgeFind(call);
    case 'git':
      return judgeGit(call);
    case 'ssh':
      return judgeSsh(call);
    case 'awk':
    case 'gawk':
    case 'mawk':
    case 'nawk':
      return judgeAwk(call);
    case 'sed':
    case 'gsed':
      return judgeSed(call);
    case 'at':
    case 'batch':
    case 'crontab':
      return judgeLater(call);
    default:
      return undefined;
  }
}

function judgeXargs({ run, args }: ProgramCall): readonly string[] {
  const { operands, values, flags } = readOptions(args, {
    valueLetters: 'IiLlnPsdaE',
    valueNames: ['replace', 'max-args', 'max-procs', 'max-lines', 'delimiter', 'arg-file', 'max-chars'],
    stopEarly: true,
  });
  const file = values.get('a') ?? values.get('arg-file');
  if (file !== undefined) checkFile(run, file, 'read');
  const program = operands.length > 0 ? operands : ['echo'];
  const hole =
    values.get('I') || values.get('replace') || (flags.has('i') || flags.has('replace') ? '{}' : undefined);
  const printed: string[] = [];
  for (const text of file !== undefined ? [contentOf(run, file)] : (run.stdin ?? [UNKNOWN])) {
    const items = hasHole(text)
      ? [madeFrom(text)]
      : text.split(hole === undefined ? /\s+/ : /\n/).filter((item) => item !== '');
    const own = items.slice(0, 200).map((item) => item.replace(/^(['"])(.*)\1$/, '$2'));
    const calls =
      hole === undefined
        ? [[...program, ...own]]
        : own.slice(0, 50).map((item) => program.map((word) => word.replaceAll(hole, item)));
    for (const words of calls) printed.push(...run.perhaps(() => judgeCall(run, words)));
  }
  return printed.length > 0 ? printed.slice(0, 16) : [''];
}

function judgeFind({ run, args }: ProgramCall): readonly string[] {
  const find = readFind(args);
  for (const start of find.starts) checkFile(run, start, find.deletes ? 'write' : 'read');
  for (const file of find.writes) checkFile(run, file, 'write');
  for (const words of find.calls) {
    for (const found of foundNames(find))
      run.perhaps(() =>
        judgeCall(
          run,
          words.map((word) => word.replaceAll('{}', found)),
        ),
      );
  }
  return [UNKNOWN];
}

/** Settings whose value git executes. */
const GIT_CODE =
  /^(alias\..*|core\.(sshcommand|pager|editor|fsmonitor|askpass|gitproxy|hookspath)|pager\..*|sequence\.editor|credential\.?.*helper|diff\..*(command|textconv)|merge\..*driver|filter\..*|gpg\..*program|browser\..*|difftool\..*|mergetool\..*|uploadpack\..*)$/i;

function judgeGit(call: ProgramCall): undefined {
  const { run, args } = call;
  const settings = args.flatMap((word, index) =>
    word === '-c' || word === '--config'
      ? [args[index + 1] ?? '']
      : word.startsWith('--config-env=')
        ? []
        : [],
  );
  const config = args.indexOf('config');
  if (config >= 0) {
    const [key = '', value = ''] = args.slice(config + 1).filter((word) => !word.startsWith('-'));
    settings.push(`${key}=${value}`);
  }
  for (const setting of settings) {
    const equals = setting.indexOf('=');
    if (equals < 0 || !GIT_CODE.test(setting.slice(0, equals))) continue;
    const value = setting.slice(equals + 1).replace(/^!/, '');
    run.perhaps(() => run.walker.code(run, value, { mustParse: false, subshell: true }));
  }
  const words = args.filter((word) => !word.startsWith('-'));
  if (words[0] === 'bisect' && words[1] === 'run')
    run.perhaps(() => judgeCall(run, args.slice(args.indexOf('run') + 1)));
  if (words[0] === 'submodule' && words[1] === 'foreach') {
    run.perhaps(() =>
      run.walker.code(
        run,
        args
          .slice(args.indexOf('foreach') + 1)
          .filter((word) => word !== '--recursive')
          .join(' '),
        { mustParse: false, subshell: true },
      ),
    );
  }
  return undefined;
}

function judgeSsh(call: ProgramCall): readonly string[] {
  const { run, args } = call;
  const { operands, values } = readOptions(args, { valueLetters: 'bcDEeFIiJLlmOopQRSWw', stopEarly: true });
  const [host = '', ...command] = operands;
  run.findings.warn(warnings.remote, host);
  for (const letter of ['i', 'F']) {
    const file = values.get(letter);
    if (file !== undefined) checkFile(run, file, 'read');
  }
  if (/(^|@)(localhost|127\.[\d.]+|::1|0\.0\.0\.0)$/.test(host))
    judgeCode(run, command.join(' '), { subshell: true });
  return [DOWNLOADED];
}

function judgeAwk(call: ProgramCall): readonly string[] {
  const { run, args } = call;
  const { operands, values } = readOptions(args, {
    valueLetters: 'fvFei',
    valueNames: ['file', 'source', 'field-separator', 'assign'],
    stopEarly: true,
  });
  const script =
    values.get('e') ??
    values.get('source') ??
    (values.has('f') || values.has('file') ? undefined : operands[0]);
  if (script !== undefined) {
    if (/\bsystem\b|\||getline/.test(script))
      judgeInlineCode(
        run,
        script.replace(/\||getline/g, (word) => `${word} system `),
      );
    for (const target of script.matchAll(/>>?\s*"([^"]{1,200})"/g)) checkFile(run, target[1] ?? '', 'write');
  }
  checkOperands(call);
  return filtered(call);
}

/** GNU sed executes with the command `e`, and writes with `w`. */
function judgeSed(call: ProgramCall): readonly string[] {
  const { run, args } = call;
  const { operands, values } = readOptions(args, { valueLetters: 'efl', valueNames: ['expression', 'file'] });
  for (const script of [values.get('e'), values.get('expression'), operands[0]]) {
    if (script === undefined || script.length > 4_096) continue;
    const code = /(?:^|[;{}\n\d$/!,])\s*e\s+([^\n]+)/.exec(script)?.[1];
    if (code !== undefined)
      run.perhaps(() => run.walker.code(run, code, { mustParse: false, subshell: true }));
    const file = /(?:^|[;{}\n\d$/!,gpI])\s*[wW]\s+(\S+)/.exec(script)?.[1];
    if (file !== undefined) checkFile(run, file, 'write');
  }
  checkOperands(call);
  return filtered(call);
}

/** What is handed to `at` or `crontab` runs when nobody is asked. */
function judgeLater(call: ProgramCall): readonly string[] {
  const { run, name, args } = call;
  if (args.some((word) => /^-[lcq]$/.test(word))) return [UNKNOWN];
  run.findings.warn(warnings.later, name);
  for (const text of run.stdin ?? []) {
    const code = name === 'crontab' ? text.replace(/^\s{0,9}(?:\S+[ \t]+){5}/gm, '') : text;
    run.perhaps(() => judgeCode(run, code, { subshell: true }));
  }
  checkOperands(call);
  return [''];
}

/** Programs whose words are only ever text, so that `man rm` is not taken for a call of `rm`. */
const QUOTES_WORDS =
  /^(man|info|help|type|which|whereis|whatis|apropos|tldr|apt|apt-get|dnf|yum|pacman|brew|grep|egrep|fgrep|rg|ag|logger|expr|jq|git|gh|docker|podman|kubectl|diff|ls|cat|cp|mv|rm|mkdir|touch|seq|make|say|figlet)$/;

/** A wrapper we have never heard of: if the words after it would be a catastrophe on their own, they are one. */
function judgeTail({ run, name, args }: ProgramCall): void {
  if (QUOTES_WORDS.test(name)) return;
  for (let i = 0; i < Math.min(args.length, 12); i++) {
    const word = args[i] as string;
    if (!/^(\/\S*\/)?(rm|dd|shred|find|mkfs\S*|sh|bash|dash|zsh)$/.test(word)) continue;
    run.perhaps(() => run.findings.quietly(() => judgeCall(run, args.slice(i))));
  }
}
