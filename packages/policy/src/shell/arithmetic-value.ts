import type { ArithmeticExpression } from 'unbash';
import type { ShellRun } from './shell-run.ts';
import { evaluateParts } from './word-values.ts';

/** A sum of this many terms is as deep as its tree. */
const MAX_ARITHMETIC_DEPTH = 500;

/**
 * The number an arithmetic expression surely has, or undefined. Everything in it that executes is walked, also
 * where the number is not known.
 */
export function evaluateArithmetic(
  run: ShellRun,
  expression: ArithmeticExpression | undefined,
  depth = 0,
): number | undefined {
  if (!expression || !run.step()) return undefined;
  if (depth > MAX_ARITHMETIC_DEPTH) {
    run.tooComplex('its arithmetic is nested too deeply');
    return undefined;
  }
  switch (expression.type) {
    case 'ArithmeticBinary': {
      const left = evaluateArithmetic(run, expression.left, depth + 1);
      const right = evaluateArithmetic(run, expression.right, depth + 1);
      return left === undefined || right === undefined
        ? undefined
        : compute(expression.operator, left, right);
    }
    case 'ArithmeticUnary': {
      const value = evaluateArithmetic(run, expression.operand, depth + 1);
      if (value === undefined) return undefined;
      return expression.operator === '-' ? -value : expression.operator === '+' ? value : undefined;
    }
    case 'ArithmeticTernary':
      evaluateArithmetic(run, expression.test, depth + 1);
      evaluateArithmetic(run, expression.consequent, depth + 1);
      evaluateArithmetic(run, expression.alternate, depth + 1);
      return undefined;
    case 'ArithmeticGroup':
      return evaluateArithmetic(run, expression.expression, depth + 1);
    case 'ArithmeticCommandExpansion': {
      const script = expression.script;
      const printed = script
        ? run.deeper([], () => run.inSubshell(() => run.walker.script(run, script)))
        : [];
      return printed.length === 1 ? asNumber((printed[0] as string).trim()) : undefined;
    }
    case 'ArithmeticWord': {
      if (expression.parts) {
        const values = evaluateParts(run, expression.parts, { quoted: true });
        return values.length === 1 ? asNumber(values[0] as string) : undefined;
      }
      return asNumber(expression.value) ?? variableNumber(run, expression.value);
    }
  }
}

/** bash evaluates the text of a variable as arithmetic again, `$(…)` in an index included. */
function variableNumber(run: ShellRun, name: string): number | undefined {
  const values = run.state.variables.get(name)?.values ?? [];
  for (const value of values) if (/\$\(|`/.test(value)) run.walker.expansion(run, value);
  return values.length === 1 ? asNumber(values[0] as string) : undefined;
}

export function asNumber(text: string): number | undefined {
  const digits = /^\s*(-?)\s*(0[xX][0-9a-fA-F]{1,8}|\d{1,10})\s*$/.exec(text.replace(/[()]/g, ''));
  if (!digits) return undefined;
  const [, sign, number = ''] = digits;
  const value = /^0[0-7]+$/.test(number) ? Number.parseInt(number, 8) : Number(number);
  return sign === '-' ? -value : value;
}

function compute(operator: string, left: number, right: number): number | undefined {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return Number.isSafeInteger(left * right) ? left * right : undefined;
    case '/':
      return right === 0 ? undefined : Math.trunc(left / right);
    case '%':
      return right === 0 ? undefined : left % right;
    default:
      return undefined;
  }
}
