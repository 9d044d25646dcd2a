import { customToolSchema } from '@countersign/protocol';
import { expect, it } from 'vitest';
import { customToolsOf } from './custom/assess-custom-call.ts';
import { readPolicyFile } from './policy-rules.ts';
import { isReadOnly } from './read-only.ts';
import { ToolCallPolicy } from './tool-call-policy.ts';

const harmless = customToolSchema.parse({
  name: 'docs__search',
  description: '',
  input_schema: { type: 'object' },
  risk_level: 'LOW',
  read_only: true,
});
const allowAll = readPolicyFile(
  JSON.stringify({ version: 1, rules: [{ id: 'all', effect: 'allow', tool: '*', max_risk: 'HIGH' }] }),
  'person',
);
const policy = new ToolCallPolicy({
  root: '/work',
  customTools: customToolsOf([harmless]),
  policies: allowAll.ok ? [allowAll.policy] : [],
});

it.each<[boolean, string, object]>([
  [true, 'read_file', { path: 'a.md' }],
  [true, 'search_files', { content: 'x' }],
  [true, 'shell_output', { job_id: 'job-1' }],
  [true, 'git_branch', {}],
  [false, 'git_branch', { name: 'new', create: true }],
  [true, 'execute_command', { command: 'grep', args: ['x', 'a.md'] }],
  [false, 'execute_command', { command: 'npm', args: ['test'] }],
  [false, 'execute_command', { command: 'find', args: ['.', '-delete'] }],
  [false, 'shell_background', { command: 'ls' }],
  [false, 'shell_kill', { job_id: 'job-1' }],
  [false, 'write_file', { path: 'a.md', content: '' }],
  [false, 'create_directory', { path: 'a' }],
  [false, 'docs__search', {}],
  [false, 'no_such_tool', {}],
])('[AP-11] says %s of %s %j, whatever the rules allow', (expected, tool, params) => {
  expect(isReadOnly(policy.decide(tool, params))).toBe(expected);
});
