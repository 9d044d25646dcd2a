import { readOptions } from '../program/options.ts';
import { judgeInlineCode, printedLiterals } from './inline-code.ts';
import { executeInput, mayExecute } from './nested-shells.ts';
import { checkFile, checkOperands } from './operands.ts';
import { filtered, inputsOf } from './program-output.ts';
import { contentOf } from './redirections.ts';
import type { ProgramCall } from './shell-run.ts';
import { warnings } from './warnings.ts';

/** `system(…)`, a pipe or `getline` with something else than a text in quotes: the input decides what runs. */
const AWK_RUNS_INPUT =
  /\bsystem\s*\((?!\s*"[^"]*"\s*\))|[\w$)\]]\s*\|&?\s*getline|(?<!\|)\|&?\s*(?!getline\b)[A-Za-z_$(]/;

/** awk executes with `system`, with pipes and with `getline`, and writes with `>`. */
export function judgeAwk(call: ProgramCall): readonly string[] {
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
      for (const text of [...inputsOf(call), ...awkVariables(args)]) executeInput(run, text);
    for (const target of script.matchAll(/>>?\s*"([^"]{1,200})"/g)) checkFile(run, target[1] ?? '', 'write');
    printed.push(...printedLiterals(script));
  }
  checkOperands(call);
  return [...filtered(call), ...printed];
}

/** The values of `-v name=value`. */
const awkVariables = (args: readonly string[]): readonly string[] =>
  args.flatMap((word, index) => {
    const assigned = word === '-v' || word === '--assign' ? (args[index + 1] ?? '') : word;
    return /^(?:-v)?[A-Za-z_]\w*=(.*)$/s.exec(assigned)?.[1] ?? [];
  });

/** The command `e`, alone or as a flag of `s`, executes what was read. */
const SED_RUNS_INPUT =
  /(?:^|[;{}\n\d$/!,])\s*e\s*(?:$|[;}\n])|s([^\w\s\\])(?:\\.|(?!\1)[^\\])*\1((?:\\.|(?!\1)[^\\])*)\1\w*e/s;

/** GNU sed executes with the command `e`, and writes with `w`. */
export function judgeSed(call: ProgramCall): readonly string[] {
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
    if (code !== undefined)
      run.perhaps(() => run.walker.code(run, code, { mustParse: false, subshell: true }));
    const executes = SED_RUNS_INPUT.exec(script);
    const replacement = executes?.[2]?.replace(/\\(.)/g, '$1') ?? '';
    if (executes) for (const text of [...inputsOf(call), replacement]) executeInput(run, text);
    const target = /(?:^|[;{}\n\d$/!,gpI])\s*[wW]\s+(\S+)/.exec(script)?.[1];
    if (target !== undefined) checkFile(run, target, 'write');
  }
  checkOperands(call);
  const prefix =
    scripts.length > 0 && scripts.every((script) => SED_PREFIX.test(script))
      ? SED_PREFIX.exec(scripts[0] as string)?.[2]
      : undefined;
  if (prefix === undefined) return filtered(call);
  // `s|^|/|`: every line gets something before it
  return inputsOf(call).map((text) => text.replace(/^(?=[^\n])/gm, prefix.replace(/\\(.)/g, '$1')));
}

const SED_PREFIX = /^s([^\w\s\\])\^\1((?:\\.|(?!\1)[^\\\n])*)\1g?$/;
