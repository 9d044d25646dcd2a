import type { TestExpression } from 'unbash';
import { hasHole, hasPattern, NUMBER, UNSET, UNSET_QUOTED } from '../program/marks.ts';
import type { ShellRun } from './shell-run.ts';
import { warnings } from './warnings.ts';
import { evaluatePlainText } from './word-values.ts';

/**
 * Some values are code because bash evaluates them a second time: arithmetic, array indices, names of variables, prompts.
 * In arithmetic bash replaces a name by its value, evaluates that as arithmetic again, and expands indices including
 * `$(…)`: `a='x[$(id)]'; ((a))` runs `id`. All functions here follow one rule: known text is walked, so a catastrophe in
 * it is refused; if the text contains a command or is not known, the person is warned (SHW-21). evaluated-text.test.ts
 * lists the places and checks them with bash itself.
 */

/** Judges text that bash expands a second time: a prompt, an index, the words of a completion. */
export function expandAgain(run: ShellRun, text: string): void {
  if (run.evaluating.has(text)) return;
  if (isComputed(text)) run.findings.warn(warnings.computedCode, text);
  run.evaluating.add(text);
  run.walker.expansion(run, text);
  run.evaluating.delete(text);
}

/** Judges text that bash evaluates as arithmetic: `((text))`, an index, the value of an integer variable. */
export function readAsNumber(run: ShellRun, text: string): void {
  if (/^[\s\d]*$/.test(text) || run.evaluating.has(text) || !run.step()) return;
  expandAgain(run, text);
  // an unbalanced bracket: the text beside this one may complete an index
  if (text.split('[').length !== text.split(']').length) run.findings.warn(warnings.computedCode, text);
  run.evaluating.add(text);
  for (const name of new Set(text.match(/[A-Za-z_]\w*/g))) {
    const variable = run.state.variables.get(name);
    const values = new Set([...(variable?.values ?? []), ...(variable?.elements ?? [])]);
    for (const value of [...values, ...(run.state.references.get(name) ?? [])]) readAsNumber(run, value);
  }
  run.evaluating.delete(text);
}

/** Judges text that bash reads as a variable's name, perhaps with an index: `unset text`, `[[ -v text ]]`, `${!x}`. */
export function readAsName(run: ShellRun, text: string): void {
  const { name, index } = splitName(text);
  if (index === undefined) {
    if (isComputed(name)) expandAgain(run, name);
  } else readIndex(run, name, index);
}

/** Judges an index. `@` and `*` mean all elements. The index of an associative array is plain text that builtins expand. */
export function readIndex(run: ShellRun, name: string, index: string): void {
  if (index === '@' || index === '*') return;
  if (run.state.has(name, 'A')) expandAgain(run, index);
  else readAsNumber(run, index);
}

/** Splits `name[index]rest`. Without an index, the whole text is the name. */
export function splitName(text: string): { name: string; index?: string; rest: string } {
  const start = /^[A-Za-z_]\w*\[/.exec(text)?.[0].length;
  if (start === undefined) return { name: text, rest: '' };
  let depth = 1;
  let end = start;
  for (; end < text.length && depth > 0; end++) depth += text[end] === '[' ? 1 : text[end] === ']' ? -1 : 0;
  const rest = text.slice(end);
  // a bracket inside `$(…)` may have ended the index too early: then the index is all of the text
  const isEnd = depth === 0 && /^(\+?=|$)/.test(rest);
  const name = text.slice(0, start - 1);
  return isEnd
    ? { name, index: text.slice(start, end - 1), rest }
    : { name, index: text.slice(start), rest: '' };
}

/**
 * Whether a text is not known, or contains a command or a part of one. Variables that this line never sets count as empty,
 * and unknown numbers contain no command.
 */
function isComputed(text: string): boolean {
  if (/\$\(|\$\{[\s|]|`|\$$/.test(text)) return true;
  const rest = text.replaceAll(NUMBER, '').replaceAll(UNSET, '').replaceAll(UNSET_QUOTED, '');
  return hasHole(rest) || hasPattern(rest);
}

/** Walks `[[ … ]]`, whose words execute substitutions. `-v` evaluates a name, and `-eq` and the like a number. */
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
