import type { TestExpression } from 'unbash';
import type { ShellRun } from './shell-run.ts';
import { evaluateText } from './word-values.ts';

/** Walks `[[ … ]]`: its words are only compared, but substitutions in them execute. */
export function walkTest(run: ShellRun, expression: TestExpression): void {
  if (!run.step()) return;
  switch (expression.type) {
    case 'TestUnary':
      for (const text of evaluateText(run, expression.operand))
        if (expression.operator === '-v') run.walker.expansion(run, text);
      return;
    case 'TestBinary':
      for (const side of [expression.left, expression.right]) {
        const isNumber = /^-(eq|ne|lt|le|gt|ge)$/.test(expression.operator);
        for (const text of evaluateText(run, side)) if (isNumber) walkNumber(run, text);
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

/** A number in `[[ … -eq … ]]` is arithmetic: a name stands for its value, and an index may hold `$(…)`. */
function walkNumber(run: ShellRun, text: string): void {
  run.walker.expansion(run, text);
  for (const value of run.state.variables.get(text)?.values ?? []) run.walker.expansion(run, value);
}
