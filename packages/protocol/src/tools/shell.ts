import { z } from 'zod';
import { networkParameter } from '../network-host.ts';
import { commandResult, timeoutParameter } from './command.ts';
import { defineToolRow, pathParameter, shown } from './definition.ts';

const jobId = z.string().min(1).max(64).describe('What shell_background returned.');

export const shellTools = [
  defineToolRow({
    name: 'shell_exec',
    category: 'shell',
    description:
      'Run a bash command line and wait for it. A line whose commands only read inside the workspace runs at once; the person is asked about any other.',
    parameters: z.strictObject({
      command: z.string().min(1).describe('The command line.'),
      cwd: pathParameter('The directory to run in').optional(),
      timeout: timeoutParameter,
      network: networkParameter,
    }),
    result: commandResult,
    baseRisk: 'HIGH',
    kind: 'execute',
    changes: 'anything',
    wants: ({ command }) => `run ${shown(command)}`,
  }),
  defineToolRow({
    name: 'shell_background',
    category: 'shell',
    description:
      'Start a bash command line in the background, such as a development server, and return its job_id. Commands of this session reach it on localhost.',
    parameters: z.strictObject({
      command: z.string().min(1).describe('The command line.'),
      cwd: pathParameter('The directory to run in').optional(),
    }),
    result: z.strictObject({ success: z.literal(true), job_id: jobId }),
    baseRisk: 'HIGH',
    kind: 'execute',
    changes: 'anything',
    wants: ({ command }) => `start ${shown(command)} in the background`,
  }),
  defineToolRow({
    name: 'shell_output',
    category: 'shell',
    description: 'What a background job of this session has printed so far, and whether it still runs.',
    parameters: z.strictObject({ job_id: jobId }),
    result: z.strictObject({
      success: z.literal(true),
      stdout: z.string(),
      stderr: z.string(),
      running: z.boolean(),
      exit_code: z.int().nullable(),
      ports: z
        .array(z.int())
        .optional()
        .describe(
          'TCP ports on which it listens: commands of this session reach them on localhost, and the person with "countersign open".',
        ),
      truncated: z.boolean().optional(),
    }),
    baseRisk: 'LOW',
    kind: 'read',
    changes: 'nothing',
  }),
  defineToolRow({
    name: 'shell_kill',
    category: 'shell',
    description: 'End a background job of this session.',
    parameters: z.strictObject({ job_id: jobId }),
    result: z.strictObject({ success: z.literal(true), exit_code: z.int().nullable() }),
    baseRisk: 'LOW',
    kind: 'execute',
    changes: 'job',
  }),
] as const;
