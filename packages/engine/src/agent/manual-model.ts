import { CountersignError, callFromLine, fenced, readModelResult } from '@countersign/protocol';
import type { Json, JsonObject } from '../rows.ts';
import type { Model, ModelMessage, ModelPart, ModelRequest, OfferedTool } from './model.ts';

/**
 * The model that needs no key (AG-1): the person types tool calls, one on a line, and it reports how each went.
 * Validation, approval and execution are as with any other model.
 */
export const manualModel: Model = {
  name: 'manual',
  async *call(request: ModelRequest): AsyncGenerator<ModelPart> {
    yield* answerTo(request);
    yield { type: 'usage', inputTokens: 0, outputTokens: 0 };
    yield { type: 'finish', reason: 'stop' };
  },
};

function answerTo({ messages, tools }: ModelRequest): ModelPart[] {
  const turns = messages.filter(({ role }) => role !== 'note');
  const last = turns.at(-1);
  // Report the results of the last step's calls.
  if (last?.role === 'tool')
    return [text(summarise(turns.slice(turns.findLastIndex(({ role }) => role === 'assistant'))))];
  // Several messages may have waited while the last calls ran (AG-5).
  const typed = turns
    .slice(turns.findLastIndex(({ role }) => role !== 'user') + 1)
    .flatMap((message) => (message.role === 'user' ? [message.text.trim()] : []))
    .filter((message) => message.startsWith('/'));
  if (typed.length === 0) return [text(explanation(tools))];
  // A line that begins with a slash is a call or asks for help. Other lines continue the previous line.
  const lines = typed.flatMap((message) => message.split(/\n(?=\s*\/[a-z])/)).map((line) => line.trim());
  const asked = lines.filter((line) => /^\/help(\s|$)/.test(line));
  if (asked.length === 0) return callsIn(lines, tools);
  const answers = asked.map((line) => helpOf(line.slice('/help'.length).trim(), tools));
  const notMade = 'I made no call: the calls beside /help are for a message of their own.';
  return [text([...(asked.length < lines.length ? [notMade] : []), ...answers].join('\n\n'))];
}

/** Makes no call at all if one of the lines is wrong. */
function callsIn(lines: readonly string[], tools: readonly OfferedTool[]): ModelPart[] {
  const calls: ModelPart[] = [];
  for (const line of lines) {
    try {
      const { tool, args } = callFromLine(line, {
        help: '/help',
        schemaOf: (name) => find(name, tools)?.input_schema,
      });
      const problem = find(tool, tools) ? problemOf(args) : unknownTool(tool, tools);
      if (problem !== undefined) return [text(`I made no call.\n\n${shorten(line)}\n${problem}`)];
      calls.push({ type: 'tool_call', id: `call_${calls.length}`, name: tool, params: args as JsonObject });
    } catch (error) {
      if (!(error instanceof CountersignError)) throw error;
      return [
        text(`I made no call.\n\n${shorten(line)}\n${error.message.replace('Run /help', 'Type /help')}`),
      ];
    }
  }
  return calls;
}

const find = (name: string, tools: readonly OfferedTool[]): OfferedTool | undefined =>
  tools.find((tool) => tool.name === name);

const problemOf = (args: unknown): string | undefined =>
  args !== null && typeof args === 'object' && !Array.isArray(args)
    ? undefined
    : 'The parameters are no JSON object.';

function unknownTool(name: string, tools: readonly OfferedTool[]): string {
  const words = name.split('_');
  const near = tools.filter((tool) => tool.name.split('_').some((word) => words.includes(word)));
  const names = (near.length > 0 ? near : tools).map((tool) => `/${tool.name}`).join('  ');
  const lead = near.length > 0 ? 'Did you mean one of these?' : 'There are';
  return `There is no tool "${shorten(name)}" that you can use here. ${lead}\n${names}`;
}

function explanation(tools: readonly OfferedTool[]): string {
  return [
    'No language model is configured, so I do exactly what you type. Each line is one tool call:',
    '',
    '  /read_file path=README.md',
    '  /edit_file path=src/app.js old="Helo" new="Hello"',
    '  /run npm test',
    '  /search_files {"content": "TODO", "pattern": "*.ts"}',
    '',
    'Several lines are several calls at once. You are asked before anything that changes something.',
    `Tools: ${tools.map(({ name }) => name).join(', ')}.`,
    'Type /help TOOL for the parameters of one.',
  ].join('\n');
}

function helpOf(name: string, tools: readonly OfferedTool[]): string {
  if (name === '') return explanation(tools);
  const wanted = name.replace(/^\//, '');
  const tool = find(wanted === 'run' ? 'execute_command' : wanted, tools);
  if (!tool) return unknownTool(wanted, tools);
  const { properties = {}, required = [] } = tool.input_schema as {
    properties?: Record<string, { description?: string; type?: string; default?: unknown }>;
    required?: string[];
  };
  const parameters = Object.entries(properties).map(([parameter, { type, description, default: value }]) => {
    const need = required.includes(parameter)
      ? ''
      : value === undefined
        ? ', optional'
        : `, ${JSON.stringify(value)} if left out`;
    return `  ${parameter} (${type ?? 'text'}${need})${description === undefined ? '' : `: ${description}`}`;
  });
  return [`/${tool.name}: ${tool.description}`, ...parameters].join('\n');
}

const text = (content: string): ModelPart => ({ type: 'text', text: content });

const shorten = (line: string): string => (line.length <= 200 ? line : `${line.slice(0, 199)}…`);

/** A longer result is cut; the call's card has all of it. */
const MAX_LINES = 40;
const MAX_CHARACTERS = 4_000;

/** The result of each call in a step, as text for the person. */
function summarise(step: readonly ModelMessage[]): string {
  return step
    .flatMap((message) => (message.role === 'tool' ? [summaryOf(message.toolName, message.content)] : []))
    .join('\n\n');
}

function summaryOf(toolName: string, content: string): string {
  // The result is between the two lines that delimit it.
  const result = readModelResult(content.slice(content.indexOf('\n') + 1, content.lastIndexOf('\n')));
  if (!result) return `${toolName}: done.`;
  switch (result.status) {
    case 'success': {
      const seen = describe(result.result as Json);
      return `${toolName}:${seen.startsWith('\n') ? '' : ' '}${seen}`;
    }
    case 'rejected': {
      const words = [result.reason, result.user_message].filter((word) => word !== null && word !== '');
      return `${toolName}: rejected. ${words.join(': ').replace(/([.!?…]): /, '$1 ')}`;
    }
    case 'error': {
      const output = result.result === undefined ? '' : `\n${describe(result.result as Json).trimStart()}`;
      return `${toolName}: failed. ${result.error.message} (${result.error.code})${output}`;
    }
  }
}

/** The most useful parts of a result. Text from tools and files is quoted, so that it is not rendered as Markdown. */
function describe(result: Json): string {
  if (result === null || typeof result !== 'object' || Array.isArray(result)) return quoted(asText(result));
  const fields = result as Record<string, Json>;
  const { content, stdout, stderr, files, path, size, exit_code } = fields;
  if (typeof content === 'string') return `${sizeOf(size)}${quoted(content)}`;
  if (typeof stdout === 'string' || typeof stderr === 'string') {
    const output = [stdout, stderr]
      .filter((stream) => typeof stream === 'string' && stream !== '')
      .join('\n');
    return `exit code ${asText(exit_code ?? null)}${output === '' ? ', no output' : quoted(output)}`;
  }
  if (Array.isArray(files))
    return `${files.length} ${files.length === 1 ? 'file' : 'files'}${quoted(listOf(files))}`;
  if (typeof path === 'string') return `${path} ${sizeOf(size)}`.trim();
  const { success: _, ...rest } = fields;
  return Object.keys(rest).length === 0 ? 'done' : quoted(JSON.stringify(rest, null, 2));
}

const sizeOf = (size: Json | undefined): string => (typeof size === 'number' ? `${size} bytes` : '');

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

function listOf(files: readonly Json[]): string {
  return files
    .map((file) => {
      const path =
        file !== null && typeof file === 'object' && !Array.isArray(file)
          ? (file as { path?: Json }).path
          : file;
      return asText(path ?? null);
    })
    .join('\n');
}

/** The text as a code block of its own, cut if it is long; nothing if it is empty. */
function quoted(text: string): string {
  const whole = text.trimEnd();
  if (whole === '') return '';
  const shown = whole.split('\n').slice(0, MAX_LINES).join('\n').slice(0, MAX_CHARACTERS);
  const left = whole.length - shown.length;
  return `\n${fenced(shown)}${left > 0 ? `\n… (${left} more characters)` : ''}`;
}
