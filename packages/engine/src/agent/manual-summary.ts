import { modelResultSchema } from '@countersign/protocol';
import type { Json } from '../rows.ts';
import type { ModelMessage } from './model.ts';

/** A result is shown up to here; all of it is in the call's own card. */
const MAX_LINES = 40;
const MAX_CHARACTERS = 4_000;

/** What became of each call of a step, for the person who typed it. */
export function summarise(step: readonly ModelMessage[]): string {
  return step
    .flatMap((message) => (message.role === 'tool' ? [summaryOf(message.toolName, message.content)] : []))
    .join('\n\n');
}

function summaryOf(toolName: string, content: string): string {
  const result = modelResultSchema.safeParse(parseData(content)).data;
  if (!result) return `${toolName}: done.`;
  switch (result.status) {
    case 'success':
      return `${toolName}: ${describe(result.result as Json)}`;
    case 'rejected': {
      const words = [result.reason, result.user_message].filter((word) => word !== null && word !== '');
      return `${toolName}: rejected. ${words.join(': ').replace(/([.!?…]): /, '$1 ')}`;
    }
    case 'error': {
      const output = result.result === undefined ? '' : `\n${describe(result.result as Json)}`;
      return `${toolName}: failed. ${result.error.message} (${result.error.code})${output}`;
    }
  }
}

/** The JSON between the two lines that delimit it. */
function parseData(content: string): unknown {
  try {
    return JSON.parse(content.slice(content.indexOf('\n') + 1, content.lastIndexOf('\n')));
  } catch {
    return undefined;
  }
}

/** The parts of a result that a person wants to see first. */
function describe(result: Json): string {
  if (result === null || typeof result !== 'object' || Array.isArray(result)) return clip(asText(result));
  const fields = result as Record<string, Json>;
  const { content, stdout, stderr, files, path, size, exit_code } = fields;
  if (typeof content === 'string') return `${sizeOf(size)}\n${clip(content)}`;
  if (typeof stdout === 'string' || typeof stderr === 'string') {
    const output = [stdout, stderr]
      .filter((stream) => typeof stream === 'string' && stream !== '')
      .join('\n');
    return `exit code ${asText(exit_code ?? null)}${output === '' ? ', no output' : `\n${clip(output)}`}`;
  }
  if (Array.isArray(files))
    return `${files.length} ${files.length === 1 ? 'file' : 'files'}\n${clip(listOf(files))}`;
  if (typeof path === 'string') return `${path} ${sizeOf(size)}`.trim();
  const { success: _, ...rest } = fields;
  return Object.keys(rest).length === 0 ? 'done' : clip(JSON.stringify(rest, null, 2));
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

function clip(text: string): string {
  const lines = text.trimEnd().split('\n');
  const shown = lines.slice(0, MAX_LINES).join('\n').slice(0, MAX_CHARACTERS);
  const left = text.trimEnd().length - shown.length;
  return left > 0 ? `${shown}\n… (${left} more characters)` : shown;
}
