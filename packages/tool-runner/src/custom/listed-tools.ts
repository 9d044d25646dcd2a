import { hash } from 'node:crypto';
import {
  type CustomTool,
  type CustomToolName,
  canonicalJson,
  customCategorySchema,
  customToolSchema,
  describeIssues,
  type JsonValue,
  jsonValueSchema,
  makeVisible,
} from '@countersign/protocol';
import { z } from 'zod';
import type { ServerEntry } from './server-entry.ts';

export interface ListedTool {
  readonly tool: CustomTool;
  /** The tool's name at its server. */
  readonly ownName: string;
  /** Covers the tool's description, schema and hints, and its server's entry (AP-8). */
  readonly digest: string;
}

export interface ToolListing {
  readonly tools: readonly ListedTool[];
  /** Tools that cannot be used, and why. */
  readonly leftOut: readonly string[];
}

const MAX_TOOLS = 128;
const MAX_DESCRIPTION = 2_000;
const MAX_SCHEMA_BYTES = 16 * 1024;
/** The longest tool name that models accept. */
const MAX_NAME = 64;

const toolSchema = z.object({
  name: z.string().min(1).max(1_000),
  title: z.string().max(1_000).optional(),
  description: z.string().optional(),
  inputSchema: z.record(z.string(), jsonValueSchema),
  annotations: z
    .object({ readOnlyHint: z.boolean().optional(), destructiveHint: z.boolean().optional() })
    .optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

/** Our own fields in a tool's `_meta`; `@countersign/tool-kit` writes them. */
const declaredSchema = z.object({
  'countersign/category': customCategorySchema.default('custom'),
  'countersign/requires_approval': z.boolean().default(false),
});

/** Reads a server's list of tools. Tools that cannot be used are left out, with the reason. */
export function listTools(rawTools: readonly unknown[], entry: ServerEntry, definition: string): ToolListing {
  const tools = new Map<string, ListedTool>();
  const leftOut: string[] = [];
  for (const raw of rawTools) {
    if (tools.size >= MAX_TOOLS) {
      leftOut.push(`it has ${rawTools.length} tools; the first ${MAX_TOOLS} are used`);
      break;
    }
    const listed = readTool(raw, entry, definition);
    if (typeof listed === 'string') leftOut.push(listed);
    else if (tools.has(listed.tool.name))
      leftOut.push(`${shownName(listed.ownName)}: another tool is called ${listed.tool.name} already`);
    else tools.set(listed.tool.name, listed);
  }
  return { tools: [...tools.values()], leftOut: leftOut.slice(0, MAX_TOOLS) };
}

function readTool(raw: unknown, entry: ServerEntry, definition: string): ListedTool | string {
  const parsed = toolSchema.safeParse(raw);
  if (!parsed.success) return `${shownName(nameOf(raw))}: it is not described as the protocol says`;
  const { name: ownName, title, description = '', inputSchema, annotations, _meta = {} } = parsed.data;
  const name = callName(entry.name, ownName);
  if (name === undefined) return `${shownName(ownName)}: its name has no letter or digit`;
  if (JSON.stringify(inputSchema).length > MAX_SCHEMA_BYTES)
    return `${shownName(ownName)}: its schema has more than ${MAX_SCHEMA_BYTES} bytes`;
  const declared = declaredSchema.safeParse(_meta);
  if (!declared.success)
    return `${shownName(ownName)}: what it declares is not valid (${describeIssues(declared.error)})`;
  const { 'countersign/category': category, 'countersign/requires_approval': requires_approval } =
    declared.data;
  const destructive = annotations?.destructiveHint === true;
  const level = entry.risk.get(ownName) ?? (destructive ? 'HIGH' : 'MEDIUM');
  const shown = makeVisible(description || title || '').slice(0, MAX_DESCRIPTION);
  const tool = customToolSchema.safeParse({
    name,
    description: shown,
    input_schema: inputSchema as Record<string, JsonValue>,
    // A tool that wants approval is never LOW by configuration: only the person's rules and grants let it run unasked.
    risk_level: requires_approval && level === 'LOW' ? 'MEDIUM' : level,
    read_only: annotations?.readOnlyHint === true,
    destructive,
    category,
    requires_approval,
    network: entry.network,
  });
  if (!tool.success) return `${shownName(ownName)}: its schema cannot be used`;
  const covered = [definition, ownName, title ?? '', description, inputSchema, tool.data];
  return { tool: tool.data, ownName, digest: `sha256:${hash('sha256', canonicalJson(covered))}` };
}

/** The tool's name for the model, which accepts only letters, digits, `_` and `-`. */
function callName(server: string, ownName: string): CustomToolName | undefined {
  const plain = ownName.replaceAll(/[^A-Za-z0-9_-]/g, '_').replace(/^[^A-Za-z0-9]+/, '');
  return plain === '' ? undefined : `${server}__${plain.slice(0, MAX_NAME - server.length - 2)}`;
}

const nameOf = (raw: unknown): string =>
  String((typeof raw === 'object' && raw !== null && 'name' in raw && raw.name) || 'a tool');

const shownName = (name: string): string => `"${makeVisible(name.slice(0, 64)).replaceAll(/\s/g, ' ')}"`;
