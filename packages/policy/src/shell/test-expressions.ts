import type { TestExpression } from 'unbash';
import { readAsName, readAsNumber } from './evaluated-text.ts';
import type { ShellRun } from './shell-run.ts';
import { evaluatePlainText } from './word-values.ts';

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
