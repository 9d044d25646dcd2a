import { realDisk, type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToolCallPolicy } from '../tool-call-policy.ts';
import { ASKS_TWICE, BUILDS, READS } from './real-lines.test-data.ts';

/** The same on the server, by the text, and in the runner, with a disk. */
let workspace: TemporaryWorkspace;
let policies: ToolCallPolicy[];
beforeAll(() => {
  workspace = temporaryWorkspace();
  workspace.apply([
    { op: 'dir', path: 'packages/x' },
    { op: 'dir', path: '.git' },
    { op: 'file', path: '.venv/bin/pytest', content: '' },
  ]);
  policies = [
    new ToolCallPolicy({ root: workspace.root, disk: realDisk, home: '/home/person' }),
    new ToolCallPolicy({ root: '/home/ann/code/project', home: '/home/ann' }),
  ];
});
afterAll(() => workspace.remove());

describe.each([
  ['LOW', READS],
  ['MEDIUM', BUILDS],
  ['HIGH', ASKS_TWICE],
] as const)('[RK-2] %s', (level, lines) => {
  it.each(lines)('%s', (command) => {
    const decided = policies.map((policy) => {
      const { decision, reasons } = policy.decide('shell_exec', { command }).verdict;
      return decision === level ? decision : { decision, reasons };
    });
    expect({ command, decided }).toEqual({ command, decided: [level, level] });
  });
});
