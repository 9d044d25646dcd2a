import { describe, expect, it } from 'vitest';
import { availableToolSchema, describeTool, parametersJsonSchema } from './available-tool.ts';
import { catalogue, findTool, isCustomToolName, parseToolCall } from './catalogue.ts';
import type { ToolDefinition } from './definition.ts';

/** Keywords of JSON Schema 2020-12 that our parameters may use. Some models do not support others. */
const keywords = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'enum',
  'default',
  'description',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'anyOf',
]);

describe('parametersJsonSchema', () => {
  it.each(catalogue)('[TL-1] $name: required and properties agree, and nothing else is allowed', (tool) => {
    const { type, properties, required = [], additionalProperties } = parametersJsonSchema(tool);
    expect(type).toBe('object');
    expect(additionalProperties).toBe(false);
    expect(Object.keys(properties)).toEqual(Object.keys(tool.parameters.shape));
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(required));
    expect(required.filter((name) => 'default' in (properties[name] ?? {}))).toEqual([]);
  });

  it.each(catalogue)('[TL-1] $name uses plain keywords of draft 2020-12 and no reference', (tool) => {
    expect([...keywordsOf(parametersJsonSchema(tool))].filter((keyword) => !keywords.has(keyword))).toEqual(
      [],
    );
  });

  it('[TL-3] tells a model the longest timeout, and no limit where there is none', () => {
    expect(parametersJsonSchema(tool('execute_command')).properties.timeout).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 300,
      default: 30,
      description: 'Seconds until the command is stopped, at most 300.',
    });
    expect(parametersJsonSchema(tool('hover')).properties.line).toEqual({
      type: 'integer',
      minimum: 1,
      description: 'Counted from 1.',
    });
  });
});

describe('describeTool', () => {
  it('[RE-3] lists a tool with the fields of the founding documents', () => {
    const { name, parameters, requires_approval, risk_level, timeout_seconds } = describeTool(
      tool('read_file'),
    );
    expect({ name, requires_approval, risk_level, timeout_seconds }).toEqual({
      name: 'read_file',
      requires_approval: false,
      risk_level: 'LOW',
      timeout_seconds: 0,
    });
    expect(parameters).toMatchObject({ path: { type: 'string' } });
  });

  it('[RE-3] lists execute_command as the founding documents do', () => {
    expect(describeTool(tool('execute_command'))).toMatchObject({
      parameters: { command: { type: 'string' }, args: { type: 'array' }, timeout: { type: 'integer' } },
      requires_approval: true,
      risk_level: 'MEDIUM',
      timeout_seconds: 300,
    });
  });

  it.each(catalogue)('[TL-1] $name is what its schema says', (row) => {
    const listed = describeTool(row);
    expect(availableToolSchema.parse(listed)).toEqual(listed);
  });
});

describe('custom tools', () => {
  it.each(['deploy__staging', 'my-server__do.it_now'])('[TL-1] %s is the name of one', (name) => {
    expect(isCustomToolName(name)).toBe(true);
    expect(parseToolCall(name, {})).toMatchObject({ ok: false, error: { code: 'UNKNOWN_TOOL' } });
  });

  it.each(['deploy', '__staging', 'deploy__', '__proto__', 'a b__c', `${'a'.repeat(33)}__b`, 'a__b\n'])(
    '[TL-1] %j is not',
    (name) => {
      expect(isCustomToolName(name)).toBe(false);
    },
  );

  it('[TL-1] never share a name with a built-in tool', () => {
    expect(catalogue.filter(({ name }) => isCustomToolName(name))).toEqual([]);
  });
});

/** Every keyword of a schema, also inside properties and items. */
function keywordsOf(schema: object): Set<string> {
  const found = new Set(Object.keys(schema));
  const { properties, items } = schema as { properties?: Record<string, object>; items?: object };
  for (const inner of [...Object.values(properties ?? {}), ...(items ? [items] : [])]) {
    for (const keyword of keywordsOf(inner)) found.add(keyword);
  }
  return found;
}

function tool(name: string): ToolDefinition {
  return findTool(name) as ToolDefinition;
}
