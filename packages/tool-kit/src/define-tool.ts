import type { CallToolResult } from '@modelcontextprotocol/server';
import type { z } from 'zod';

/** JSON Schema of an object, for whoever has one already. */
export interface JsonObjectSchema extends Record<string, unknown> {
  readonly type: 'object';
}

type Parameters = z.ZodObject | JsonObjectSchema;
/** What a handler gets: typed by a zod schema; a JSON Schema is checked when the tool is called. */
export type ParametersOf<P extends Parameters> = P extends z.ZodObject
  ? z.output<P>
  : Record<string, unknown>;

export interface ToolContext {
  /** Aborted when the call is cancelled. */
  readonly signal: AbortSignal;
  /** Tells whoever waits how far it is: 0 to 100. */
  progress(percent: number, message?: string): void;
}

/** A text, a value that becomes JSON, or `{ content: [...] }` as MCP has it: pictures, sound, resources. */
export type ToolAnswer = string | number | boolean | null | object | undefined;

/** One tool: what it is called, what it takes, and what it does. */
export interface ToolDefinition<P extends Parameters = Parameters> {
  readonly name: string;
  /** For the model and for the person who is asked: what it does, in one or two sentences. */
  readonly description: string;
  readonly parameters: P;
  /** True: it changes nothing. It is shown to the person, and makes nothing less risky. */
  readonly readOnly?: boolean;
  /** True: it may destroy something. The person is asked with a second step. */
  readonly destructive?: boolean;
  /** A word for lists of tools: small letters, digits, `_` and `-`. `custom` unless said; never that of a built-in tool. */
  readonly category?: string;
  /** True: the person is asked even where their configuration says LOW. False loosens nothing. */
  readonly requires_approval?: boolean;
  /** What it throws is told to the model, and the call has failed. */
  handler(parameters: ParametersOf<P>, context: ToolContext): ToolAnswer | Promise<ToolAnswer>;
}

/** Keeps the types of a tool: its handler's parameters are those of its schema. */
export const defineTool = <P extends Parameters>(tool: ToolDefinition<P>): ToolDefinition<P> => tool;

/** What a handler answered, as MCP sends it. */
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
