import type { ArithmeticBinary, ArithmeticExpression, ArithmeticWord } from 'unbash';
import { NUMBER } from '../program/marks.ts';
import { readAsNumber } from './evaluated-text.ts';
import { evaluateSimple, joinFields } from './parameter-values.ts';
import type { ShellRun } from './shell-run.ts';
import { assignText } from './variables.ts';
import { evaluateParts } from './word-values.ts';

/** The deepest expression that is followed. A sum of n terms is a tree of depth n. */
const MAX_ARITHMETIC_DEPTH = 500;

/**
 * The value of an arithmetic expression, or undefined if it is not certain. Walks every command in the expression, even if
 * the value is not known.
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
      if (ASSIGNS.test(expression.operator)) return assignNumber(run, expression, depth);
      const left = evaluateArithmetic(run, expression.left, depth + 1);
      const right = evaluateArithmetic(run, expression.right, depth + 1);
      return left === undefined || right === undefined
        ? undefined
        : compute(expression.operator, left, right);
    }
    case 'ArithmeticUnary': {
      const value = evaluateArithmetic(run, expression.operand, depth + 1);
      if (/^(\+\+|--)$/.test(expression.operator))
        for (const target of targetsOf(run, expression.operand)) assignText(run, target, [NUMBER]);
      if (value === undefined) return undefined;
      return expression.operator === '-' ? -value : expression.operator === '+' ? value : undefined;
    }
    case 'ArithmeticTernary':
      for (const part of [expression.test, expression.consequent, expression.alternate])
        evaluateArithmetic(run, part, depth + 1);
      return undefined;
    case 'ArithmeticGroup':
      return evaluateArithmetic(run, expression.expression, depth + 1);
    case 'ArithmeticCommandExpansion': {
      const script = expression.script;
      const printed = script
        ? run.deeper([], () => run.inSubshell(() => run.walker.script(run, script)))
        : [];
      return numberOf(
        run,
        printed.map((text) => text.trim()),
      );
    }
    case 'ArithmeticWord':
      return numberOf(run, textsOf(run, expression));
  }
}

/** The number that all these texts surely mean, or undefined. bash evaluates such text as code (evaluated-text.ts). */
function numberOf(run: ShellRun, texts: readonly string[]): number | undefined {
  for (const text of texts) readAsNumber(run, text);
  if (texts.length !== 1) return undefined;
  const [text = ''] = texts;
  const values = run.state.variables.get(text)?.values ?? [text];
  return values.length === 1 ? asNumber(values[0] as string) : undefined;
}

function textsOf(run: ShellRun, { parts, value }: ArithmeticWord): readonly string[] {
  if (parts) return evaluateParts(run, parts, { quoted: true });
  // unbash 6.0.3 does not parse `$1` in arithmetic
  return /^\$\d$/.test(value) ? evaluateSimple(run, value.slice(1)).map(joinFields) : [value];
}

const ASSIGNS = /^([-+*/%&|^]|<<|>>|\*\*)?=$/;

/** Applies `x=1` or `x[i]+=1`. Only operators other than `=` evaluate the old value. */
function assignNumber(
  run: ShellRun,
  { left, right, operator }: ArithmeticBinary,
  depth: number,
): number | undefined {
  const value = evaluateArithmetic(run, right, depth + 1);
  if (operator !== '=') evaluateArithmetic(run, left, depth + 1);
  const result = operator === '=' ? value : undefined;
  for (const target of targetsOf(run, left))
    assignText(run, target, [result === undefined ? NUMBER : String(result)]);
  return result;
}

function targetsOf(run: ShellRun, expression: ArithmeticExpression): readonly string[] {
  return expression.type === 'ArithmeticWord' ? textsOf(run, expression) : [];
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
