import type { Approval } from '@countersign/protocol';

/** A part of a shell line. The texts of all parts together are the line. */
export interface ShellPart {
  /** The operator that connects it with the part before: `|`, `&&`, `;` … Empty for the first part. */
  readonly operator: string;
  /** The command as it was written, with the spaces around it. */
  readonly text: string;
  /** Files that its redirections write, and those that `tee` is given. */
  readonly writes: readonly string[];
}

/**
 * Splits a shell line at its operators, to show what each part does. Only for display: the shell gets the line as it is,
 * and packages/policy judges it with a real grammar. A line that this does not understand stays in one part.
 */
export function shellParts(line: string): readonly ShellPart[] {
  const whole: readonly ShellPart[] = [{ operator: '', text: line, writes: [] }];
  // Here-documents and comments hold text that is not a command.
  if (/<<|(^|\s)#/.test(line)) return whole;
  const parts: { operator: string; text: string; writes: string[] }[] = [];
  let part = { operator: '', text: '', writes: [] as string[] };
  let depth = 0;
  let at = 0;
  while (at < line.length) {
    const quoted = quotedAt(line, at);
    if (quoted === undefined) return whole; // a quotation mark without its end
    const operator = quoted === '' && depth === 0 ? operatorAt(line, at) : '';
    if (operator !== '') {
      parts.push(part);
      part = { operator, text: '', writes: [] };
      at += operator.length;
      continue;
    }
    const redirection = quoted === '' && depth === 0 ? redirectionAt(line, at) : undefined;
    if (redirection?.target) part.writes.push(redirection.target);
    const piece = quoted || redirection?.text || line.charAt(at);
    if (piece === '(' || piece === '{') depth += 1;
    if (piece === ')' || piece === '}') depth -= 1;
    part.text += piece;
    at += piece.length;
  }
  parts.push(part);
  for (const one of parts) one.writes.push(...teeTargets(one.text));
  return depth === 0 && parts.every(({ text }, index) => text.trim() !== '' || index === parts.length - 1)
    ? parts
    : whole;
}

const shellWord = /(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+/g;
/** A word that is a file's name as it stands. */
const plainWord = /^(?:(?:[^\s'"`$\\<>(){}]|\\.)+|'[^']*'|"[^"$`\\]*")$/;

/** A part of a shell line with the reasons that are about it alone. */
export interface ReadShellPart extends ShellPart {
  readonly reasons: readonly Reason[];
}

type Reason = Approval['reasons'][number];

/** A shell line in parts with their reasons, and the `others`: about the whole line, or about more than one part. */
export function readShellLine(
  line: string,
  reasons: readonly Reason[],
): { readonly parts: readonly ReadShellPart[]; readonly others: readonly Reason[] } {
  const parts = shellParts(line);
  const partOf = (reason: Reason) => (parts.length > 1 ? partOfOperand(parts, reason.operand) : undefined);
  return {
    parts: parts.map((part, index) => ({
      ...part,
      reasons: reasons.filter((reason) => partOf(reason) === index),
    })),
    others: reasons.filter((reason) => partOf(reason) === undefined),
  };
}

/** The files that a command writes because it is `tee`. */
function teeTargets(text: string): readonly string[] {
  const [program, ...words] =
    text.replace(new RegExp(redirection.source.slice(1), 'g'), ' ').match(shellWord) ?? [];
  if (program !== 'tee') return [];
  const names = words.filter((word) => !word.startsWith('-') && plainWord.test(word));
  return names.map((word) => word.replace(/^(['"])(.*)\1$/, '$2'));
}

/**
 * The part that a reason is about: the only one with its operand as a word. Undefined if several have it: the reason may be
 * about another one than a reader would think.
 */
export function partOfOperand(
  parts: readonly Pick<ShellPart, 'text'>[],
  operand: string | undefined,
): number | undefined {
  if (!operand) return undefined;
  const isEdge = (character: string) => !/[\w./-]/.test(character);
  const has = (text: string): boolean => {
    for (let at = text.indexOf(operand); at >= 0; at = text.indexOf(operand, at + 1))
      if (isEdge(text.charAt(at - 1)) && isEdge(text.charAt(at + operand.length))) return true;
    return false;
  };
  const found = parts.flatMap(({ text }, index) => (has(text) ? [index] : []));
  return found.length === 1 ? found[0] : undefined;
}

/** The quotation that begins here; empty if none does, undefined if it does not end. */
function quotedAt(line: string, at: number): string | undefined {
  const first = line.charAt(at);
  if (first === '\\') return line.slice(at, at + 2);
  if (first !== "'" && first !== '"' && first !== '`') return '';
  for (let end = at + 1; end < line.length; end += 1) {
    if (line.charAt(end) === '\\' && first !== "'") end += 1;
    else if (line.charAt(end) === first) return line.slice(at, end + 1);
  }
  return undefined;
}

const operators = ['&&', '||', '|&', '|', ';', '&', '\n'] as const;

function operatorAt(line: string, at: number): string {
  // `&>` and `>&` are redirections, not operators.
  if (line.startsWith('&>', at) || (line.charAt(at) === '&' && /[<>]/.test(line.charAt(at - 1)))) return '';
  if (line.charAt(at) === '|' && line.charAt(at - 1) === '>') return '';
  return operators.find((operator) => line.startsWith(operator, at)) ?? '';
}

const redirection = /^(?:&>>?|\d*>>?\|?)\s*((?:[^\s'"`$\\|&;<>(){}]|\\.)+|'[^']*'|"[^"$`\\]*")/;

/** A redirection that writes to a file. A copy of another stream (`2>&1`) has no target. */
function redirectionAt(
  line: string,
  at: number,
): { readonly text: string; readonly target: string } | undefined {
  const before = line.charAt(at - 1);
  if (/\d/.test(line.charAt(at)) && before !== '' && !/\s/.test(before)) return undefined;
  const found = redirection.exec(line.slice(at));
  return found?.[1] === undefined
    ? undefined
    : { text: found[0], target: found[1].replace(/^(['"])(.*)\1$/, '$2') };
}
