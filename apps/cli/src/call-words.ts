import { CountersignError, findTool, parametersJsonSchema } from '@countersign/protocol';

/** A tool call as somebody typed it. */
export interface TypedCall {
  readonly tool: string;
  readonly args: unknown;
}

/**
 * Understands `write_file path=a.md content=hi`, `read_file {"path": "a.md"}` and `run npm test`, the forms that
 * the manual model takes too (AG-1). Values are taken as the tool's schema wants them.
 */
export function callFromWords(words: readonly string[]): TypedCall {
  const [first, ...rest] = words;
  if (first === undefined) throw usage('Name a tool');
  const tool = first.replace(/^\//, '');
  if (tool === 'run') {
    const [command, ...args] = rest;
    return { tool: 'execute_command', args: { command: command ?? '', args } };
  }
  if (rest.length === 1 && rest[0]?.trimStart().startsWith('{')) return { tool, args: parseJson(rest[0]) };
  return { tool, args: Object.fromEntries(rest.map((word) => parameterFromWord(tool, word))) };
}

function parameterFromWord(tool: string, word: string): [string, unknown] {
  const equals = word.indexOf('=');
  if (equals < 1) throw usage(`"${word}" is not NAME=VALUE`);
  const name = word.slice(0, equals);
  const value = word.slice(equals + 1);
  return [name, isText(tool, name) ? value : parseJson(value)];
}

function isText(tool: string, name: string): boolean {
  const definition = findTool(tool);
  if (!definition) return true;
  const properties = parametersJsonSchema(definition).properties as
    | Record<string, { type?: string }>
    | undefined;
  return (properties?.[name]?.type ?? 'string') === 'string';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new CountersignError('INVALID_JSON', { problem: `${problem} in ${text.slice(0, 100)}` }, { cause });
  }
}

/** Splits a typed line as a shell would split words, for quotes only; nothing is expanded. */
export function splitLine(line: string): string[] {
  const words: string[] = [];
  let current: string | undefined;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const character = line[i] as string;
    if (quote !== '') {
      if (character === quote) quote = '';
      else if (character === '\\' && quote === '"' && i + 1 < line.length) current += line[++i] as string;
      else current += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      current ??= '';
    } else if (character === ' ' || character === '\t') {
      if (current !== undefined) words.push(current);
      current = undefined;
    } else current = (current ?? '') + character;
  }
  if (quote !== '') throw usage(`A ${quote} is not closed`);
  if (current !== undefined) words.push(current);
  return words;
}

const usage = (problem: string): CountersignError =>
  new CountersignError('USAGE', { problem, help: 'countersign policy --help' });
