import { z } from 'zod';
import { describeError, type ToolErrorValue } from '../errors.ts';
import type { Preview } from '../preview.ts';
import { describeIssues } from '../schema-issues.ts';
import { visibleLine } from '../visible-text.ts';
import { commandTools } from './command.ts';
import { type CallParams, type ToolDefinition, toolFailureSchema } from './definition.ts';
import { filesystemTools } from './filesystem.ts';
import { gitTools } from './git.ts';
import { lspTools } from './lsp.ts';
import { shellTools } from './shell.ts';

/** The one catalogue of built-in tools (TL-1). Custom tools join it as `server__tool`. */
export const catalogue = [
  ...filesystemTools,
  ...commandTools,
  ...shellTools,
  ...gitTools,
  ...lspTools,
] as const;

type Row = (typeof catalogue)[number];
export type BuiltInToolName = Row['name'];
/** The parameters of one tool after validation, defaults filled in. */
export type ToolParams<N extends BuiltInToolName> = z.output<Extract<Row, { name: N }>['parameters']>;
/** The result of one tool when it succeeds. */
export type ToolSuccess<N extends BuiltInToolName> = z.output<Extract<Row, { name: N }>['result']>;
export type ToolCategoryOf<N extends BuiltInToolName> = { [R in Row as R['name']]: R['category'] }[N];

/** A built-in tool call whose parameters have been validated, by name. */
export type BuiltInToolCall = { [N in BuiltInToolName]: { tool: N; params: ToolParams<N> } }[BuiltInToolName];

export const builtInToolNames = catalogue.map((tool) => tool.name) as readonly BuiltInToolName[];
const byName: ReadonlyMap<string, ToolDefinition> = new Map(catalogue.map((tool) => [tool.name, tool]));

/** The tools that an approval of "changes under src/" covers (AP-4), as a pattern on tool names. Deleting is a class of its own. */
export const changingToolsPattern = `{${catalogue
  .filter(({ kind }) => kind === 'edit')
  .map(({ name }) => name)
  .join(',')}}`;
/** Tools that make "git commands" (AP-4), as a pattern on tool names. Stored grants hold this text, so it never changes. */
export const gitCommandsPattern = '{execute_command,shell_exec,git_branch,git_commit}';

export const findTool = (name: string): ToolDefinition | undefined => byName.get(name);

/** Tools that run a command and wait for it: they take `timeout` and return `exit_code`. */
export const waitsForCommand = (tool: unknown): boolean =>
  typeof tool === 'string' && 'timeout' in (findTool(tool)?.parameters.shape ?? {});

export type ParsedCall =
  | { readonly ok: true; readonly call: BuiltInToolCall }
  | { readonly ok: false; readonly error: ToolErrorValue };

/** Checks a call of a built-in tool against the catalogue. Unknown parameters are an error, not ignored. */
export function parseToolCall(tool: unknown, params: unknown): ParsedCall {
  const definition = typeof tool === 'string' ? byName.get(tool) : undefined;
  if (!definition) {
    const shown = typeof tool === 'string' ? tool.slice(0, 100) : `(${typeof tool})`;
    return {
      ok: false,
      error: describeError('UNKNOWN_TOOL', { tool: shown, known: builtInToolNames.join(', ') }),
    };
  }
  const parsed = definition.parameters.safeParse(params ?? {});
  if (!parsed.success) {
    const problem = describeIssues(parsed.error);
    return { ok: false, error: describeError('INVALID_PARAMS', { tool: definition.name, problem }) };
  }
  return { ok: true, call: { tool: definition.name, params: parsed.data } as BuiltInToolCall };
}

/** The result of one tool as it crosses the wire: its success or the common failure. */
export function resultSchemaOf(tool: ToolDefinition): z.ZodType {
  return z.union([tool.result, toolFailureSchema]);
}

/** One sentence for the card: who wants to do what (AP-1). Server and runner make the same sentence from the tool's row. */
export function describeCall(
  agent: string,
  tool: string,
  params: CallParams,
  preview: Preview | null = null,
): string {
  const wants = useOf(tool, params, preview)?.wants ?? findTool(tool)?.wants;
  return `${visibleLine(agent)} wants to ${wants?.(params) ?? `use ${visibleLine(tool)}`}`;
}

/** The name by which front ends translate that sentence: the tool's, or that of this use of it. */
export const intentOf = (tool: string, params: CallParams, preview: Preview | null): string =>
  useOf(tool, params, preview)?.intent ?? tool;

const useOf = (tool: string, params: CallParams, preview: Preview | null) =>
  findTool(tool)?.uses?.find(({ applies }) => applies(params, preview));
