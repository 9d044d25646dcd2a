import type { AvailableTool } from '@countersign/protocol';

/** A text that can be inserted at the caret. */
export interface CompletionOption {
  readonly label: string;
  readonly insert: string;
  readonly detail: string;
  readonly isRequired: boolean;
}

export interface Completion {
  readonly kind: 'tool' | 'parameter' | 'value' | 'file';
  /** Start of the word at the caret, which is replaced. */
  readonly from: number;
  readonly to: number;
  readonly options: readonly CompletionOption[];
}

interface ParameterSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
}

/** Completes a call typed for the manual model (AG-1): the tool, then its parameters, then their listed values. */
export function complete(text: string, caret: number, tools: readonly AvailableTool[]): Completion | null {
  const lineStart = text.lastIndexOf('\n', caret - 1) + 1;
  const line = text.slice(lineStart, caret);
  if (!line.startsWith('/')) return null;
  const wordStart = Math.max(line.lastIndexOf(' '), line.lastIndexOf('\t')) + 1;
  const word = line.slice(wordStart);
  const range = { from: lineStart + wordStart, to: caret };
  if (wordStart === 0) return toolNames(word.slice(1), tools, range);
  const tool = tools.find(({ name }) => line.startsWith(`/${name} `));
  if (!tool || line.includes('{') || hasOpenQuote(line)) return null;
  const equals = word.indexOf('=');
  return equals < 0
    ? parameterNames(word, line, tool, range)
    : valuesOf(word.slice(0, equals), word.slice(equals + 1), tool, {
        ...range,
        from: range.from + equals + 1,
      });
}

/** Replaces the word at the caret by the option. Returns the text and the new caret. */
export function insertOption(
  text: string,
  { from, to }: Pick<Completion, 'from' | 'to'>,
  { insert }: CompletionOption,
): { text: string; caret: number } {
  return { text: text.slice(0, from) + insert + text.slice(to), caret: from + insert.length };
}

type Range = Pick<Completion, 'from' | 'to'>;

function toolNames(typed: string, tools: readonly AvailableTool[], range: Range): Completion | null {
  const commands = [
    ...tools.map(({ name, description }) => ({ name, detail: firstSentence(description) })),
    { name: 'run', detail: '/run npm test' },
    { name: 'help', detail: '/help' },
  ];
  const options = commands
    .filter(({ name }) => name.includes(typed) && name !== typed)
    .sort((a, b) => Number(b.name.startsWith(typed)) - Number(a.name.startsWith(typed)))
    .map(({ name, detail }) => ({ label: `/${name}`, insert: `/${name} `, detail, isRequired: false }));
  return orNull({ kind: 'tool', ...range, options });
}

function parameterNames(typed: string, line: string, tool: AvailableTool, range: Range): Completion | null {
  const required = tool.input_schema.required;
  const options = Object.entries(tool.parameters as Record<string, ParameterSchema>)
    .filter(([name]) => name.startsWith(typed) && !line.includes(` ${name}=`))
    .map(([name, { type, description }]) => ({
      label: `${name}=`,
      insert: `${name}=`,
      detail: [type, description].filter((part) => part !== undefined).join(': '),
      isRequired: Array.isArray(required) && required.includes(name),
    }))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
  return orNull({ kind: 'parameter', ...range, options });
}

function valuesOf(name: string, typed: string, tool: AvailableTool, range: Range): Completion | null {
  const schema = (tool.parameters as Record<string, ParameterSchema | undefined>)[name];
  const values = schema?.type === 'boolean' ? ['true', 'false'] : (schema?.enum ?? []).map(String);
  const options = values
    .filter((value) => value.startsWith(typed) && value !== typed)
    .map((value) => ({ label: value, insert: `${value} `, detail: '', isRequired: false }));
  return orNull({ kind: 'value', ...range, options });
}

const orNull = (completion: Completion): Completion | null =>
  completion.options.length === 0 ? null : completion;

const hasOpenQuote = (line: string): boolean => (line.match(/(?<!\\)"/g)?.length ?? 0) % 2 === 1;

const firstSentence = (text: string): string => text.split('. ', 1)[0] ?? text;
