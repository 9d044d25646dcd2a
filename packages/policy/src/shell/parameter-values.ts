import type { ParameterExpansionPart, ParameterReplaceOperation, Word } from 'unbash';
import {
  hasHole,
  hasMark,
  hasPattern,
  madeFrom,
  NUMBER,
  TOO_MANY,
  UNKNOWN,
  UNSET_QUOTED,
  unquoted,
} from '../program/marks.ts';
import { asNumber } from './arithmetic-value.ts';
import { expandAgain, readAsName, readAsNumber } from './evaluated-text.ts';
import type { ShellRun } from './shell-run.ts';
import { bounded } from './shell-state.ts';
import { evaluateIndex, setScalar } from './variables.ts';
import { matchesPattern } from './word-paths.ts';
import { evaluateParts, evaluatePlainText, evaluateText, evaluateWord } from './word-values.ts';

/** One possible value of a parameter. */
export interface ParameterValue {
  readonly fields: readonly string[];
  /** The value is a list whose elements stay separate words, even in quotes (`$@`). */
  readonly separate: boolean;
  /** The value is already split into words, as the operand of `${x:-…}` outside quotes is. */
  readonly isSplit?: boolean;
  /** Joins the fields to one text: the first character of IFS for `$*`, else a space. */
  readonly joiner?: string;
}

export const joinFields = ({ fields, joiner = ' ' }: ParameterValue): string => fields.join(joiner);

const scalar = (text: string): ParameterValue => ({ fields: [text], separate: false });

/** The possible values of `$name`, `$1`, `$@` and the like. */
export function evaluateSimple(run: ShellRun, name: string): readonly ParameterValue[] {
  const { state } = run;
  switch (name) {
    case '@':
    case '*':
      if (!state.positional) return [{ fields: [UNKNOWN], separate: true }];
      return state.positionals().map((fields) => list(run, fields, name));
    case '0':
      return [scalar(state.scriptName)];
    case '#':
      return [scalar(state.positional ? String(state.positional.length) : NUMBER)];
    case '_':
      return state.lastArgument.map(scalar);
    case '?':
    case '$':
    case '!':
      return [scalar(NUMBER)];
    case '-':
      return [scalar(UNKNOWN)];
  }
  if (/^\d+$/.test(name)) {
    if (!state.positional) return [scalar(UNKNOWN)];
    return state.positionals().map((fields) => scalar(fields[Number(name) - 1] ?? ''));
  }
  return values(run, name).map(scalar);
}

/** The value of `$@` and `${a[@]}` (kind `@`), or of `$*` and `${a[*]}` (kind `*`). */
function list(run: ShellRun, fields: readonly string[], kind: string): ParameterValue {
  if (kind === '@') return { fields, separate: true };
  return { fields, separate: false, joiner: run.state.variables.get('IFS')?.values[0]?.slice(0, 1) ?? ' ' };
}

function values(run: ShellRun, name: string): readonly string[] {
  if (name === 'PWD') return run.state.directories;
  if (name === 'OLDPWD') return run.state.previousDirectories;
  if (name === 'FUNCNAME') return [run.calling.findLast((called) => !called.includes(' ')) ?? UNKNOWN];
  const variable = run.state.variables.get(name);
  const referred = (run.state.references.get(name) ?? []).flatMap(
    (target) => run.state.variables.get(target)?.values ?? [],
  );
  if (variable) return referred.length > 0 ? bounded([...variable.values, ...referred]) : variable.values;
  return /^(LC_\w+|BASH_\w+|COMP_\w+|TZ)$/.test(name) ? [UNKNOWN] : [UNSET_QUOTED];
}

/**
 * The possible values of `${…}`; UNKNOWN if they cannot be computed. Walks every command inside. `splits`: the expansion
 * stands outside quotes, so bash splits the result into words.
 */
export function evaluateParameter(
  run: ShellRun,
  part: ParameterExpansionPart,
  { splits }: { splits: boolean },
): readonly ParameterValue[] {
  const { operation } = part;
  if (operation?.type === 'Names') return [scalar(UNKNOWN)];
  const base = part.prefix === '!' ? indirect(run, part) : indexed(run, part);
  if (part.prefix === '#') {
    return base.map(({ fields }) => scalar(fields.some(hasMark) ? NUMBER : String(fields.join(' ').length)));
  }
  if (!operation) return base;
  switch (operation.type) {
    case 'Default':
      return defaulted(run, part, operandValues(run, operation.operand, splits), operation.operator, base);
    case 'Remove': {
      if (operation.operand.parts?.some((piece) => piece.type === 'Glob' && piece.kind === 'bracket')) {
        evaluateText(run, operation.operand);
        return shortened(base, operation.operator);
      }
      const patterns = patternTexts(run, operation.operand);
      return mapTexts(base, patterns, (text, pattern) => removed(text, pattern, operation.operator));
    }
    case 'Replace': {
      // unbash 6.0.3 ends the pattern at a `/` inside `$(…)`; bash does not. Look at the whole text instead.
      if (/\$\(|`/.test(part.text)) {
        run.walker.expansion(run, part.text.slice(2, -1));
        return [scalar(madeFrom(...base.flatMap(({ fields }) => fields)))];
      }
      if (hasBracket(operation.pattern.text)) return replacedByBracket(run, base, operation);
      const patterns = patternTexts(run, operation.pattern);
      const replacements = evaluateText(run, operation.replacement);
      if (replacements.length !== 1) return [scalar(madeFrom(...replacements))];
      const replacement = replacements[0] as string;
      return mapTexts(base, patterns, (text, pattern) =>
        replaced(text, pattern, operation.operator, replacement),
      );
    }
    case 'Slice': {
      const offset = numberOf(run, operation.offset);
      const length = operation.length ? numberOf(run, operation.length) : Number.POSITIVE_INFINITY;
      const isPositional = part.parameter === '@' || part.parameter === '*';
      return base.map((value) => sliced(value, offset, length, isPositional));
    }
    case 'CaseModification': {
      if (operation.operand) evaluateText(run, operation.operand);
      return mapFields(base, (text) => recased(text, operation.operator));
    }
    case 'Transform': {
      const kind = evaluateText(run, operation.operand)[0];
      if (kind === 'P') for (const { fields } of base) expandAgain(run, fields.join(' '));
      if (kind === 'U') return mapFields(base, (text) => recased(text, '^^'));
      if (kind === 'L') return mapFields(base, (text) => recased(text, ',,'));
      if (kind === 'u') return mapFields(base, (text) => recased(text, '^'));
      if (kind === 'Q' || kind === 'P' || kind === 'E') return [...base, scalar(UNKNOWN)];
      return [scalar(madeFrom(...base.flatMap(({ fields }) => fields)))];
    }
    default:
      return [scalar(UNKNOWN)];
  }
}

function indexed(run: ShellRun, part: ParameterExpansionPart): readonly ParameterValue[] {
  if (!part.index) return evaluateSimple(run, part.parameter);
  const index = evaluateIndex(run, part.parameter, part.index);
  const variable = run.state.variables.get(part.parameter);
  const elements = variable?.elements ?? values(run, part.parameter);
  if (index[0] === '@' || index[0] === '*') {
    // if the order is not certain, any element may be the first
    const starts = variable?.inexact ? [...elements.keys()].slice(0, 16) : [0];
    return starts.map((start) => list(run, elements.slice(start), index[0] as string));
  }
  const at = index.length === 1 ? asNumber(index[0] as string) : undefined;
  const isExact = !variable?.inexact && !elements.some((element) => hasHole(element) || hasPattern(element));
  if (at !== undefined && variable?.elements && isExact) {
    return [scalar(elements.at(at) ?? '')];
  }
  return elements.length === 0 ? [scalar(UNKNOWN)] : elements.map(scalar);
}

function indirect(run: ShellRun, part: ParameterExpansionPart): readonly ParameterValue[] {
  // `${!a[@]}` gives the indices, which are numbers unless the array is associative
  if (/^[@*]$/.test(part.index?.text ?? ''))
    return [scalar(run.state.has(part.parameter, 'A') ? UNKNOWN : NUMBER)];
  return indexed(run, part).flatMap(({ fields }) => {
    const name = fields.join(' ');
    readAsName(run, name);
    return /^(\w+|[@*#?$!-])$/.test(name) && !hasMark(name) ? evaluateSimple(run, name) : [scalar(UNKNOWN)];
  });
}

/** The operand of `${x:-…}`. Outside quotes, bash splits its plain text but not its quoted text: both results are kept. */
function operandValues(run: ShellRun, operand: Word, splits: boolean): readonly ParameterValue[] {
  const texts = evaluateText(run, operand).map(scalar);
  const hasQuotes =
    operand.parts?.some(({ type }) => /Quoted|LocaleString/.test(type)) || operand.text.includes('\\');
  if (!splits || !hasQuotes) return texts;
  return [
    ...evaluateWord(run, operand).map((fields) => ({ fields, separate: false, isSplit: true })),
    ...texts,
  ];
}

function defaulted(
  run: ShellRun,
  part: ParameterExpansionPart,
  texts: readonly ParameterValue[],
  operator: string,
  base: readonly ParameterValue[],
): readonly ParameterValue[] {
  const perhapsEmpty = base.filter(({ fields }) =>
    fields.every((text) => text === '' || text.includes(UNSET_QUOTED)),
  );
  const set = base.filter((value) => !perhapsEmpty.includes(value));
  switch (operator.at(-1)) {
    case '-':
      return perhapsEmpty.length > 0 ? [...set, ...texts] : base;
    case '=':
      if (perhapsEmpty.length === 0) return base;
      setScalar(
        run,
        part.parameter,
        texts.map(({ fields }) => fields.join(' ')),
      );
      return [...set, ...texts];
    case '+':
      return set.length > 0 && perhapsEmpty.length === 0 ? texts : [...texts, scalar('')];
    default:
      return [...set, ...(perhapsEmpty.length > 0 ? [scalar(UNKNOWN)] : [])]; // `:?` ends the shell if the variable is not set
  }
}

/** The operand of `#`, `%` and `/`: quoted parts are plain text, the rest is a pattern. */
function patternTexts(run: ShellRun, word: Word): readonly string[] {
  const { parts } = word;
  if (!parts) return [unquoted(word.value)];
  return run.withPlainPatterns(false, () => evaluateParts(run, parts, { quoted: true }));
}

function mapTexts(
  base: readonly ParameterValue[],
  patterns: readonly string[],
  change: (text: string, pattern: string) => string,
): readonly ParameterValue[] {
  if (base.length * patterns.length > 64) return [scalar(TOO_MANY)];
  return base.flatMap((value) =>
    patterns.map((pattern) => ({
      ...value,
      fields: value.fields.map((text) =>
        text === UNSET_QUOTED // an unset variable stays empty
          ? text
          : hasHole(text + pattern) || text.length > 512
            ? madeFrom(text)
            : change(text, pattern),
      ),
    })),
  );
}

const mapFields = (
  base: readonly ParameterValue[],
  change: (text: string) => string,
): readonly ParameterValue[] => base.map((value) => ({ ...value, fields: value.fields.map(change) }));

const hasBracket = (pattern: string): boolean => pattern.replace(/\\./g, '').includes('[');

/** `${x//[ab]/}`: exact if the pattern is a single set of characters; otherwise the result is unknown text. */
function replacedByBracket(
  run: ShellRun,
  base: readonly ParameterValue[],
  { pattern, operator, replacement }: ParameterReplaceOperation,
): readonly ParameterValue[] {
  evaluateText(run, pattern);
  const replacements = evaluateText(run, replacement);
  const set = /^\[([!^]?)((?:\\[^\w\s]|[\w\s.,:@+=/-])+)\]$/.exec(pattern.text);
  const [by] = replacements;
  if (!set || by === undefined || replacements.length > 1)
    return [scalar(madeFrom(...base.flatMap(({ fields }) => fields), ...replacements))];
  const [, negated, characters = ''] = set;
  const character = `[${negated ? '^' : ''}${characters.replace(/^-|-$/, '\\-')}]`;
  const found = new RegExp(
    operator === '/#' ? `^${character}` : operator === '/%' ? `${character}$` : character,
    operator === '//' ? 'gu' : 'u',
  );
  return mapFields(base, (text) => (hasMark(text) ? madeFrom(text) : text.replace(found, () => by)));
}

/** Every text that `#` or `%` can leave, for patterns that we do not match exactly (`[a-z]`). */
function shortened(base: readonly ParameterValue[], operator: string): readonly ParameterValue[] {
  return base.flatMap(({ fields }) => {
    const text = fields.join(' ');
    if (hasHole(text) || text.length > 60) return [scalar(madeFrom(text))];
    const cuts = [...Array(text.length + 1).keys()];
    return cuts.map((at) => scalar(operator.startsWith('#') ? text.slice(at) : text.slice(0, at)));
  });
}

function removed(text: string, pattern: string, operator: string): string {
  const lengths = [...Array(text.length + 1).keys()];
  const isLongest = operator.length === 2;
  for (const length of isLongest ? lengths.reverse() : lengths) {
    if (operator.startsWith('#')) {
      if (matchesPattern(pattern, text.slice(0, length))) return text.slice(length);
    } else if (matchesPattern(pattern, text.slice(text.length - length)))
      return text.slice(0, text.length - length);
  }
  return text;
}

function replaced(text: string, pattern: string, operator: string, replacement: string): string {
  if (pattern === '')
    return operator === '/#' ? replacement + text : operator === '/%' ? text + replacement : text;
  if (text.length > 128 && hasMark(pattern)) return UNKNOWN;
  let result = '';
  let at = 0;
  while (at <= text.length) {
    const matchesEnd = operator === '/%' && at < text.length && matchesPattern(pattern, text.slice(at));
    const length = operator !== '/%' ? longestMatch(text, at, pattern) : matchesEnd ? text.length - at : -1;
    if (length > 0 || (length === 0 && at === text.length && text === '')) {
      result += replacement;
      at += Math.max(length, 1);
      if (operator !== '//') return result + text.slice(at);
      continue;
    }
    if (operator === '/#') return text;
    result += text[at] ?? '';
    at++;
  }
  return result;
}

function longestMatch(text: string, at: number, pattern: string): number {
  if (!hasMark(pattern)) return text.startsWith(pattern, at) ? pattern.length : -1;
  for (let end = text.length; end > at; end--)
    if (matchesPattern(pattern, text.slice(at, end))) return end - at;
  return -1;
}

function numberOf(run: ShellRun, word: Word): number | undefined {
  const texts = evaluatePlainText(run, word);
  for (const text of texts) readAsNumber(run, text);
  if (texts.length !== 1) return undefined;
  const text = texts[0] as string;
  return asNumber(text) ?? asNumber(run.state.variables.get(text.trim())?.values[0] ?? '');
}

function sliced(
  value: ParameterValue,
  offset: number | undefined,
  length: number | undefined,
  isPositional: boolean,
): ParameterValue {
  if (offset === undefined || length === undefined) return scalar(madeFrom(...value.fields));
  if (value.separate) {
    // `${@:1}` begins at $1, `${a[@]:0}` at element 0
    const from = offset < 0 ? offset : Math.max(0, isPositional ? offset - 1 : offset);
    const rest = value.fields.slice(from);
    return { fields: length < 0 ? rest : rest.slice(0, length), separate: true };
  }
  const text = value.fields.join(' ');
  if (text === UNSET_QUOTED) return value;
  const from = offset < 0 ? text.length + offset : offset;
  const to = length < 0 ? text.length + length : from + length;
  const firstHole = [...text].findIndex((c) => hasHole(c));
  if (firstHole >= 0 && (offset < 0 || to > firstHole)) return scalar(madeFrom(text));
  return scalar(text.slice(Math.max(0, from), Math.max(0, to)));
}

function recased(text: string, operator: string): string {
  const change = (part: string): string =>
    operator.startsWith('^') ? part.toUpperCase() : part.toLowerCase();
  return operator.length === 2 ? change(text) : change(text.slice(0, 1)) + text.slice(1);
}
