import type { TestExpression } from 'unbash';
import { hasHole, hasPattern, NUMBER, UNSET, UNSET_QUOTED } from '../program/marks.ts';
import type { ShellRun } from './shell-run.ts';
import { warnings } from './warnings.ts';
import { evaluatePlainText } from './word-values.ts';

/**
 * Text that bash reads once more is code: arithmetic, array indices, names of variables, prompts. In arithmetic a name
 * stands for its value, which is arithmetic again, and an index is expanded, `$(…)` included, so that
 * `a='x[$(id)]'; ((a))` runs `id`. One rule for all these places: what is known of the text is walked, so that a
 * catastrophe in it is refused; where it holds a command, or only the run knows it, the person is told (SHW-21).
 * evaluated-text.test.ts lists the places, checked with bash itself.
 */

/** Text that bash expands once more: a prompt, an index, the words of a completion. */
export function readAgain(run: ShellRun, text: string): void {
  if (run.evaluating.has(text)) return;
  if (isComputed(text)) run.findings.warn(warnings.computedCode, text);
  run.evaluating.add(text);
  run.walker.expansion(run, text);
  run.evaluating.delete(text);
}

/** Text that bash takes for arithmetic: `((text))`, an index, the value of an integer variable. */
export function readAsNumber(run: ShellRun, text: string): void {
  if (/^[\s\d]*$/.test(text) || run.evaluating.has(text) || !run.step()) return;
  readAgain(run, text);
  // half of an index: the text next to it may be the other half
  if (text.split('[').length !== text.split(']').length) run.findings.warn(warnings.computedCode, text);
  run.evaluating.add(text);
  for (const name of new Set(text.match(/[A-Za-z_]\w*/g))) {
    const variable = run.state.variables.get(name);
    const values = new Set([...(variable?.values ?? []), ...(variable?.elements ?? [])]);
    for (const value of [...values, ...(run.state.references.get(name) ?? [])]) readAsNumber(run, value);
  }
  run.evaluating.delete(text);
}

/** Text that bash takes for the name of a variable, perhaps with an index: `unset text`, `[[ -v text ]]`, `${!x}`. */
export function readAsName(run: ShellRun, text: string): void {
  const { name, index } = splitName(text);
  if (index === undefined) {
    if (isComputed(name)) readAgain(run, name);
  } else readIndex(run, name, index);
}

/** `@` and `*` are all elements; the index of an associative array is any text, but a builtin still expands it. */
export function readIndex(run: ShellRun, name: string, index: string): void {
  if (index === '@' || index === '*') return;
  if (run.state.has(name, 'A')) readAgain(run, index);
  else readAsNumber(run, index);
}

/** `name[index]`; what stands behind the bracket that closes the index is `rest`. */
export function splitName(text: string): { name: string; index?: string; rest: string } {
  const start = /^[A-Za-z_]\w*\[/.exec(text)?.[0].length;
  if (start === undefined) return { name: text, rest: '' };
  let depth = 1;
  let end = start;
  for (; end < text.length && depth > 0; end++) depth += text[end] === '[' ? 1 : text[end] === ']' ? -1 : 0;
  const rest = text.slice(end);
  // a bracket inside `$(…)` may have ended it too early: all of the text is looked at then
  const isEnd = depth === 0 && /^(\+?=|$)/.test(rest);
  const name = text.slice(0, start - 1);
  return isEnd
    ? { name, index: text.slice(start, end - 1), rest }
    : { name, index: text.slice(start), rest: '' };
}

/**
 * Whether a text contains a command or half of one, or is not known. A variable that this line never sets is empty, and an
 * unknown number contains no command.
 */
function isComputed(text: string): boolean {
  if (/\$\(|\$\{[\s|]|`|\$$/.test(text)) return true;
  const rest = text.replaceAll(NUMBER, '').replaceAll(UNSET, '').replaceAll(UNSET_QUOTED, '');
  return hasHole(rest) || hasPattern(rest);
}

/** Walks `[[ … ]]`: substitutions in its words execute, and so does what `-v` and `-eq` take for a name or a number. */
export function walkTest(run: ShellRun, expression: TestExpression): void {
  if (!run.step()) return;
  switch (expression.type) {
    case 'TestUnary':
      for (const text of evaluatePlainText(run, expression.operand))
        if (expression.operator === '-v') readAsName(run, text);
      return;
    case 'TestBinary':
      for (const side of [expression.left, expression.right]) {
        const isNumber = /^-(eq|ne|lt|le|gt|ge)$/.test(expression.operator);
        for (const text of evaluatePlainText(run, side)) if (isNumber) readAsNumber(run, text);
      }
      return;
    case 'TestLogical':
      for (const operand of expression.operands) walkTest(run, operand);
      return;
    case 'TestNot':
      walkTest(run, expression.operand);
      return;
    case 'TestGroup':
      walkTest(run, expression.expression);
      return;
  }
}
