import { CountersignError, messageOf } from './errors.ts';
import { parametersJsonSchema } from './tools/available-tool.ts';
import { findTool } from './tools/catalogue.ts';

/** A tool call that a person typed; not validated yet. */
export interface TypedCall {
  readonly tool: string;
  readonly args: unknown;
}

interface TypedCallOptions {
  /** The command that shows help, named in the error of a line that cannot be parsed. */
  readonly help: string;
  /** Returns the JSON Schema of a tool's parameters; the catalogue's by default. */
  readonly schemaOf?: (tool: string) => { readonly properties?: unknown } | undefined;
}

/**
 * Parses one typed line: `write_file path=a.md content="hi there"`, `read_file {"path": "a.md"}`, `run npm test`, each with
 * or without a leading slash. Throws a `CountersignError` for the person if that fails.
 */
export function callFromLine(line: string, options: TypedCallOptions): TypedCall {
  const text = line.trim();
  const [first = ''] = text.split(/\s/, 1);
  const rest = text.slice(first.length).trim();
  // Splitting into words would remove the quotes of JSON.
  return callFromWords(rest.startsWith('{') ? [first, rest] : splitLine(text, options), options);
}

/** Like `callFromLine`, for words that a shell has split. The tool's schema says how each value is parsed. */
export function callFromWords(words: readonly string[], options: TypedCallOptions): TypedCall {
  const [first, ...rest] = words;
  const tool = first?.replace(/^\//, '') ?? '';
  if (tool === '') throw usage('Name a tool', options);
  if (tool === 'run') {
    const [command, ...args] = rest;
    return { tool: 'execute_command', args: { command: command ?? '', args } };
  }
  if (rest.length === 1 && rest[0]?.trimStart().startsWith('{')) return { tool, args: parseJson(rest[0]) };
  const parameters = rest.map((word) => parameterFromWord(tool, word, options));
  const names = parameters.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw usage(`"${twice}" is given twice`, options);
  return { tool, args: Object.fromEntries(parameters) };
}

function parameterFromWord(tool: string, word: string, options: TypedCallOptions): [string, unknown] {
  const equals = word.indexOf('=');
  if (equals < 1) throw usage(`"${word}" is not NAME=VALUE`, options);
  const name = word.slice(0, equals);
  const value = word.slice(equals + 1);
  const type = typeOf(tool, name, options);
  if (type === 'string') return [name, value];
  // A list of words is easier to type with commas than as JSON.
  if (type === 'array' && !value.trimStart().startsWith('[')) return [name, value.split(',')];
  return [name, parseJson(value)];
}

function typeOf(tool: string, name: string, { schemaOf = schemaInCatalogue }: TypedCallOptions): string {
  const properties = schemaOf(tool)?.properties as Record<string, { type?: string }> | undefined;
  const known = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return known?.type ?? 'string';
}

function schemaInCatalogue(tool: string): { readonly properties: unknown } | undefined {
  const definition = findTool(tool);
  return definition && parametersJsonSchema(definition);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const problem = messageOf(cause);
    throw new CountersignError('INVALID_JSON', { problem: `${problem} in ${text.slice(0, 100)}` }, { cause });
  }
}

/** Splits a typed line into words as a shell does, with quotes but without expansion. */
export function splitLine(line: string, options: Pick<TypedCallOptions, 'help'>): string[] {
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
    } else if (/\s/.test(character)) {
      if (current !== undefined) words.push(current);
      current = undefined;
    } else current = (current ?? '') + character;
  }
  if (quote !== '') throw usage(`A ${quote} is not closed`, options);
  if (current !== undefined) words.push(current);
  return words;
}

const usage = (problem: string, { help }: Pick<TypedCallOptions, 'help'>): CountersignError =>
  new CountersignError('USAGE', { problem, help });
