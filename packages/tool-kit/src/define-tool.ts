import type { CallToolResult } from '@modelcontextprotocol/server';
import type { z } from 'zod';

/** A JSON Schema of an object, if you have one already. */
export interface JsonObjectSchema extends Record<string, unknown> {
  readonly type: 'object';
}

type Parameters = z.ZodObject | JsonObjectSchema;
/** A handler's parameters. A zod schema types them; a JSON Schema is only checked when the tool is called. */
export type ParametersOf<P extends Parameters> = P extends z.ZodObject
  ? z.output<P>
  : Record<string, unknown>;

export interface ToolContext {
  /** Aborted when the call is cancelled. */
  readonly signal: AbortSignal;
  /** Reports progress, 0 to 100. */
  progress(percent: number, message?: string): void;
}

/** A text, a value that becomes JSON, or an MCP result `{ content: [...] }` with pictures, sound or resources. */
export type ToolAnswer = string | number | boolean | null | object | undefined;

export interface ToolDefinition<P extends Parameters = Parameters> {
  readonly name: string;
  /** What the tool does, in one or two sentences, for the model and for the person who approves. */
  readonly description: string;
  readonly parameters: P;
  /** True: the tool changes nothing. The person sees this, but the risk stays the same. */
  readonly readOnly?: boolean;
  /** True: the tool may destroy something. Approving it takes a second step. */
  readonly destructive?: boolean;
  /** A word for lists of tools: lower-case letters, digits, `_`, `-`. Default: `custom`. Not a built-in category. */
  readonly category?: string;
  /** True: the person is asked even if their configuration says LOW. False has no effect. */
  readonly requires_approval?: boolean;
  /** If the handler throws, the call fails and the model gets the error's message. */
  handler(parameters: ParametersOf<P>, context: ToolContext): ToolAnswer | Promise<ToolAnswer>;
}

/** Defines a tool, with its handler's parameters typed by its schema. */
export const defineTool = <P extends Parameters>(tool: ToolDefinition<P>): ToolDefinition<P> => tool;

/** A handler's return value as an MCP result. */
export function callResult(answer: ToolAnswer): CallToolResult {
  if (isCallResult(answer)) return answer;
  if (typeof answer === 'string') return { content: [{ type: 'text', text: answer }] };
  if (answer === undefined) return { content: [] };
  const text = JSON.stringify(answer, null, 2);
  const isObject = typeof answer === 'object' && answer !== null && !Array.isArray(answer);
  return {
    content: [{ type: 'text', text }],
    ...(isObject && { structuredContent: JSON.parse(text) as Record<string, unknown> }),
  };
}

const isCallResult = (answer: ToolAnswer): answer is CallToolResult =>
  typeof answer === 'object' && answer !== null && 'content' in answer && Array.isArray(answer.content);
