import { describeTool, findTool, type ToolDefinition } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { mcpTools } from './tool-list.ts';

describe('mcpTools', () => {
  it('[TL-1] lists a custom tool beside the catalogue, with a title and a schema that every client takes', () => {
    const listed = describeTool(findTool('read_file') as ToolDefinition);
    const custom = {
      ...listed,
      name: 'deploy__to_staging',
      category: 'custom' as const,
      input_schema: { properties: { version: { type: 'string' } } },
      read_only: false,
      risk_level: 'MEDIUM' as const,
      requires_approval: true,
    };
    const [tool, wait, cancel] = mcpTools([custom]);
    expect(tool).toMatchObject({
      name: 'deploy__to_staging',
      title: 'Deploy: to staging',
      description: `${listed.description} The person may be asked first.`,
      inputSchema: { type: 'object', properties: { version: { type: 'string' } } },
      annotations: { readOnlyHint: false, destructiveHint: true },
    });
    expect([wait?.name, cancel?.name]).toEqual(['wait_for_call', 'cancel_call']);
    expect(wait?.inputSchema).toMatchObject({ type: 'object', required: ['call_id'] });
  });
});
