import {
  type AndOr,
  type Assignment,
  type Command,
  type CommandNode,
  type CompoundList,
  type ParsedScript,
  type PipelineNode,
  parse,
  type Script,
  type Function as ShellFunction,
  type Statement,
  type Word,
} from 'unbash';
import { isInterpreter, isShell } from '../program/executed-code.ts';
import { asCode, hasHole, UNKNOWN } from '../program/marks.ts';
import { refuse } from '../verdict.ts';
import { evaluateArithmetic } from './arithmetic-value.ts';
import { catastrophes } from './catastrophes.ts';
import { walkTest } from './evaluated-text.ts';
import { isEndless, noteRecursion, startsWithoutWaiting } from './fork-bomb.ts';
import { judgeCall } from './judge-call.ts';
import { pipesShellToNetwork } from './nested-shells.ts';
import { checkFile } from './operands.ts';
import { appendTo, applyRedirections, contentOf, deliver, descriptorFile } from './redirections.ts';
import type { CodeOptions, ShellRun, Walker } from './shell-run.ts';
import { bounded, MAX_VALUES } from './shell-state.ts';
import { assign, assignText } from './variables.ts';
import { warnings } from './warnings.ts';
import { callReadings, combine, evaluateText, evaluateWord, type Reading } from './word-values.ts';

/** Walks everything in a script that could execute, in order, and judges each simple command. */
export const walker: Walker = {
  script: walkScript,
  node: walkCommand,
  code: walkCode,
  expansion: walkExpansion,
  call: judgeCall,
};

const NOTHING: readonly string[] = [''];
const MAX_OUTPUT = 65_536;
/** The descriptors of a coprocess: bash reads from COPROC_OUTPUT and writes to COPROC_INPUT. */
const COPROC_OUTPUT = '63';
const COPROC_INPUT = '60';

function walkScript(run: ShellRun, script: Script): readonly string[] {
  const error = (script as ParsedScript).errors?.[0];
  if (error) {
    refuseSyntax(run, error.message);
    return NOTHING;
  }
  return run.withPlainPatterns(false, () => walkStatements(run, script.commands));
}

function refuseSyntax(run: ShellRun, problem: string): void {
  run.findings.refuseAs(
    refuse('SHELL_SYNTAX', { problem }, { rule: 'SH-0', why: `does not parse: ${problem}` }),
  );
}

function walkCode(run: ShellRun, text: string, options: CodeOptions): readonly string[] {
  if (text.trim() === '' || !run.countText([text])) return NOTHING;
  return run.deeper(NOTHING, () => {
    const script = parse(asCode(text));
    if (script.errors && (hasHole(text) || !options.mustParse)) {
      if (hasHole(text)) run.findings.warn(warnings.unknownCode);
      return [UNKNOWN];
    }
    const follow = (): readonly string[] => {
      const { positional, otherPositionals, scriptName } = run.state;
      if (options.scriptName !== undefined) run.state.scriptName = options.scriptName;
      if (options.positional) {
        run.state.positional = options.positional;
        run.state.otherPositionals = [];
      }
      const printed = walkScript(run, script);
      if (options.subshell || options.positional?.length) {
        run.state.positional = positional;
        run.state.otherPositionals = otherPositionals;
      }
      run.state.scriptName = scriptName;
      return printed;
    };
    return options.subshell ? run.inSubshell(follow) : follow();
  });
}

function walkExpansion(run: ShellRun, text: string): void {
  if (!/[$`]/.test(text) || !run.countText([text])) return;
  run.deeper(undefined, () => {
    const script = parse(`: <<COUNTERSIGN_END\n${asCode(text)}\nCOUNTERSIGN_END\n`);
    if (!script.errors || !hasHole(text)) run.inSubshell(() => walkScript(run, script));
  });
}

function walkStatements(run: ShellRun, statements: readonly Statement[]): readonly string[] {
  let printed = NOTHING;
  for (const statement of statements) {
    if (run.findings.refused || !run.step()) break;
    printed = joinOutput(printed, walkStatement(run, statement));
  }
  return printed;
}

function walkStatement(run: ShellRun, statement: Statement): readonly string[] {
  if (statement.background) {
    run.concurrent++;
    const printed = run.inSubshell(() => walkList(run, statement.command));
    run.concurrent--;
    return printed;
  }
  const printed = walkList(run, statement.command);
  settleDirectory(run);
  if (run.state.standardOutputs.length > 0) appendTo(run, run.state.standardOutputs, printed);
  return printed;
}

/** After a `cd` that may have failed, the shell may still be in the old directory. */
function settleDirectory(run: ShellRun): void {
  const { state } = run;
  if (!state.directoriesIfCdFailed) return;
  state.addDirectories(state.directoriesIfCdFailed);
  state.directoriesIfCdFailed = undefined;
}

function walkList(run: ShellRun, node: PipelineNode | AndOr): readonly string[] {
  return node.type === 'AndOr' ? walkAndOr(run, node) : walkPipeline(run, node);
}

/** After `&&` the left side succeeded, so a `cd` in it happened; after `||` the `cd` may have failed. */
function walkAndOr(run: ShellRun, node: AndOr): readonly string[] {
  const { state } = run;
  const [first, ...rest] = node.commands;
  if (!first) return NOTHING;
  let printed = walkPipeline(run, first);
  const afterFirst = state.directories;
  state.uncertain++;
  for (const [index, command] of rest.entries()) {
    const isOr = node.operators[index] === '||';
    const leaves = isOr && isLeaving(command);
    if (leaves) state.directoriesIfCdFailed = undefined;
    else if (isOr) settleDirectory(run);
    const after = walkPipeline(run, command);
    printed = isOr
      ? [...printed, ...joinOutput(printed, after)].slice(0, MAX_VALUES)
      : joinOutput(printed, after);
  }
  state.uncertain--;
  if (state.directories !== afterFirst) state.addDirectories(afterFirst);
  return printed;
}

/** Whether a command leaves (`|| exit`, `|| return`), so that the next statement runs only after success. */
function isLeaving(node: PipelineNode): boolean {
  if (node.type === 'BraceGroup') {
    const last = node.body.commands.at(-1)?.command;
    return last?.type === 'Command' && isLeaving(last);
  }
  return node.type === 'Command' && ['exit', 'return', 'break', 'continue'].includes(node.name?.text ?? '');
}

function walkPipeline(run: ShellRun, node: PipelineNode): readonly string[] {
  if (node.type !== 'Pipeline') return walkCommand(run, node);
  if (node.commands.length === 1) return walkCommand(run, node.commands[0] as CommandNode);
  const { stdin } = run;
  if (pipesShellToNetwork(node))
    run.findings.refuse(catastrophes.remoteShell, 'a shell and a network connection in one pipeline');
  run.concurrent++;
  let printed: readonly string[] = NOTHING;
  for (const [index, command] of node.commands.entries()) {
    const input = index === 0 ? stdin : printed;
    printed = run.inSubshell(() => {
      run.stdin = input;
      return walkCommand(run, command);
    });
  }
  run.concurrent--;
  return printed;
}

function walkCommand(run: ShellRun, node: CommandNode | CompoundList): readonly string[] {
  if (run.findings.refused || !run.step()) return NOTHING;
  return run.deeper(NOTHING, () => walkNode(run, node));
}

function walkNode(run: ShellRun, node: CommandNode | CompoundList): readonly string[] {
  switch (node.type) {
    case 'Command':
      return walkSimple(run, node);
    case 'CompoundList':
      return walkStatements(run, node.commands);
    case 'BraceGroup':
      return walkStatements(run, node.body.commands);
    case 'Subshell':
      return run.inSubshell(() => walkStatements(run, node.body.commands));
    case 'Redirected': {
      const { stdin } = run;
      const redirected = applyRedirections(run, node.redirects);
      if (redirected.stdin) run.stdin = redirected.stdin;
      const printed = deliver(run, redirected, walkCommand(run, node.command));
      run.stdin = stdin;
      return printed;
    }
    case 'If': {
      walkStatements(run, node.clause.commands);
      const branches = [
        node.then,
        ...node.elif.flatMap(({ clause, then }) => [clause, then]),
        ...(node.else ? [node.else] : []),
      ];
      return bounded(branches.flatMap((branch) => run.perhaps(() => walkStatements(run, branch.commands))));
    }
    case 'While':
      return walkLoop(run, [node.clause, node.body], { endless: isEndless(node.kind, node.clause) });
    case 'For':
    case 'Select': {
      const values = node.wordlist?.flatMap((word) => evaluateWord(run, word).flat()) ??
        run.state.positional ?? [UNKNOWN];
      if (values.length > 0) assignText(run, node.name.value, [...new Set(values)]);
      // a loop over several fixed words surely calls its body several times
      return walkLoop(run, [node.body], { endless: false, repeats: isFixedList(node.wordlist) });
    }
    case 'ArithmeticFor':
      for (const part of [node.initialize, node.test, node.update]) evaluateArithmetic(run, part);
      return walkLoop(run, [node.body], { endless: node.test === undefined });
    case 'Case':
      evaluateText(run, node.word);
      return bounded(
        node.items.flatMap((item) => {
          for (const pattern of item.pattern) evaluateText(run, pattern);
          return run.perhaps(() => walkStatements(run, item.body.commands));
        }),
      );
    case 'TestCommand':
      walkTest(run, node.expression);
      return NOTHING;
    case 'ArithmeticCommand':
      evaluateArithmetic(run, node.expression);
      return NOTHING;
    case 'Function':
      defineFunction(run, node);
      return NOTHING;
    case 'Coproc': {
      const execute = (): void => {
        run.concurrent++;
        const printed = run.inSubshell(() => walkCommand(run, node.body));
        run.concurrent--;
        run.state.writeFile(descriptorFile(COPROC_OUTPUT), printed.join('\n'));
      };
      execute();
      run.sinks.set(descriptorFile(COPROC_INPUT), execute);
      run.state.outputs.set(COPROC_INPUT, descriptorFile(COPROC_INPUT));
      run.state.set(node.name?.value ?? 'COPROC', {
        values: [COPROC_OUTPUT],
        elements: [COPROC_OUTPUT, COPROC_INPUT],
      });
      return NOTHING;
    }
  }
}

/** Walks loop bodies until no value changes, because a later pass may use a value that an earlier pass set. */
function walkLoop(
  run: ShellRun,
  bodies: readonly CompoundList[],
  { endless, repeats = endless }: { endless: boolean; repeats?: boolean },
): readonly string[] {
  if (endless && bodies.some(startsWithoutWaiting))
    run.findings.refuse(catastrophes.forkBomb, 'endless loop with &');
  if (repeats) run.repeatingLoops++;
  let printed = NOTHING;
  for (let pass = 0; pass < 4; pass++) {
    const before = run.state.changes;
    printed = run.perhaps(() => bodies.map((body) => walkStatements(run, body.commands)).at(-1) ?? NOTHING);
    if (run.state.changes === before || run.findings.refused) break;
  }
  if (repeats) run.repeatingLoops--;
  return printed.every((text) => text === '')
    ? NOTHING
    : [...printed.slice(0, 8), UNKNOWN + printed.join('').slice(0, MAX_OUTPUT)];
}

/** Judges a function's body at its definition, with unknown arguments. `callFunction` judges it again at each call. */
function defineFunction(run: ShellRun, node: ShellFunction): void {
  const name = node.name.value;
  run.state.functions.set(name, node);
  run.inSubshell(() => {
    run.state.positional = undefined;
    run.state.uncertain++;
    run.calling.push(name);
    const { concurrent } = run;
    run.concurrent = 0;
    walkCommand(run, node.body);
    run.concurrent = concurrent;
    run.calling.pop();
  });
}

function isFixedList(words: readonly Word[] | undefined): boolean {
  const isFixed = words?.every((word) => !/[$`*?[~]/.test(word.text)) ?? false;
  return isFixed && (words?.length !== 1 || /^\{.*\}$/.test(words[0]?.text ?? ''));
}

function walkSimple(run: ShellRun, node: Command): readonly string[] {
  const { stdin } = run;
  const assignments = node.prefix.filter((part): part is Assignment => part.type === 'Assignment');
  const redirected = applyRedirections(run, node.redirects);
  if (!node.name) {
    for (const assignment of assignments) assign(run, assignment);
    // `$(< file)` prints the file
    const read = redirected.input === undefined ? NOTHING : [contentOf(run, redirected.input)];
    return deliver(run, redirected, read);
  }
  const { readings, plainCount } = callReadings(run, node);
  const replaced = assignments.map(({ name }) => [name, run.state.variables.get(name)] as const);
  for (const assignment of assignments) {
    assign(run, assignment);
    run.findings.addEnvironment(assignment.name);
  }
  for (const argument of node.args) {
    if (argument.type === 'Assignment' && argument.value.type === 'ArrayValue') assign(run, argument);
  }
  noteRecursion(run, node, readings);
  if (redirected.stdin) run.stdin = redirected.stdin;
  const programs = readings.map(([name = '']) => name.slice(name.lastIndexOf('/') + 1));
  if (programs.some((name) => isShell(name) || isInterpreter(name))) {
    if (redirected.network) run.findings.refuse(catastrophes.remoteShell, 'a shell connected to the network');
    if (redirected.input !== undefined) checkFile(run, redirected.input, 'run');
  }
  const judge = (words: Reading, isGuess: boolean): readonly string[] =>
    isGuess ? run.findings.quietly(() => judgeCall(run, words)) : judgeCall(run, words);
  let printed: readonly string[] = [];
  for (const [index, words] of readings.entries()) {
    if (run.findings.refused) break;
    const output = index === 0 ? judgeCall(run, words) : run.perhaps(() => judge(words, index >= plainCount));
    printed = [...printed, ...output];
  }
  run.state.lastArgument = readings.map((words) => words.at(-1) ?? '');
  printed = deliver(run, redirected, bounded([...new Set(printed)]), readings.flat());
  for (const [name, value] of replaced) {
    if (value) run.state.variables.set(name, value);
    else run.state.variables.delete(name);
  }
  run.stdin = stdin;
  // the redirections of an `exec` without a program apply to the rest of the line
  if (node.name.value === 'exec' && node.args.length === 0) {
    if (redirected.stdin) run.stdin = redirected.stdin;
    if (redirected.outputs.length > 0) run.state.standardOutputs = redirected.outputs;
  }
  return printed;
}

function joinOutput(a: readonly string[], b: readonly string[]): readonly string[] {
  if (b.length === 1 && b[0] === '') return a;
  const joined = combine(a, b);
  return joined.map((text) => (text.length > MAX_OUTPUT ? UNKNOWN + text.slice(0, MAX_OUTPUT) : text));
}
