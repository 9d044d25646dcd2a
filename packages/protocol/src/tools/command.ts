import { z } from 'zod';
import { errorCodeSchema } from '../errors.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import { networkHost, networkParameter } from '../network-host.ts';
import { changesOfCommand, defineToolRow, leftOfCommand, shown } from './definition.ts';

/** Events and lists contain the exit code even if they leave out the result. */
export const exitCodeSchema = z.int().describe('The exit code of a command that ended by itself.');

/**
 * The result of every command, with or without a shell (TL-2). A command that ended by itself has an exit code and no
 * error, even if the code is not 0: `grep` without a match did its work. A command that ran out of time or was killed
 * failed: it has `error` and `code` like every failure, and also its output.
 */
export const commandResult = z
  .strictObject({
    success: z.boolean().describe('True when the command ended with exit code 0.'),
    stdout: z.string(),
    stderr: z.string(),
    exit_code: exitCodeSchema.nullable().describe('Null when it was stopped or a signal ended it.'),
    execution_time: z.number().nonnegative().describe('Seconds.'),
    truncated: z.boolean().optional().describe('True when output was cut; the text says where and how much.'),
    ...changesOfCommand,
    ...leftOfCommand,
    undoable: z
      .boolean()
      .optional()
      .describe(
        'Whether undo can bring back what was there before. Left out if nothing landed from a layer.',
      ),
    not_undoable: z.string().optional().describe('Why what landed cannot be undone.'),
    error: z.string().optional().describe('After a failure: what happened and what to do next.'),
    code: errorCodeSchema.optional().describe('After a failure: COMMAND_FAILED, COMMAND_TIMEOUT …'),
  })
  .refine(
    ({ success, exit_code, error, code }) =>
      success === (exit_code === 0) &&
      (exit_code === null) === (error !== undefined) &&
      (exit_code === null) === (code !== undefined),
    {
      error:
        'success means exit code 0; error and code are there where there is no exit code, and only there',
    },
  );

/** Has no maximum: SizeLimiter refuses a longer timeout with an error code of its own, and operators may raise the limit. */
export const timeoutParameter = z
  .int()
  .min(1)
  .default(defaultLimits.commandTimeoutDefaultSeconds)
  .meta(timeoutBounds(defaultLimits));

/** Default, maximum and description of `timeout` in a tool's JSON Schema, by these limits. */
export function timeoutBounds({ commandTimeoutDefaultSeconds, commandTimeoutMaxSeconds }: Limits) {
  return {
    default: commandTimeoutDefaultSeconds,
    maximum: commandTimeoutMaxSeconds,
    description: `Seconds until the command is stopped, at most ${commandTimeoutMaxSeconds}.`,
  };
}

export const commandTools = [
  defineToolRow({
    name: 'execute_command',
    category: 'command',
    description:
      'Run one program without a shell, in the workspace root. Allowed: grep find locate ls cat head tail wc gcc python python3 node npm git zip unzip tar echo date pwd whoami.',
    parameters: z.strictObject({
      command: z.string().min(1).describe('The name of the program alone, such as npm.'),
      args: z.array(z.string()).default([]).describe('Its arguments, one each; nothing is expanded.'),
      timeout: timeoutParameter,
      network: networkParameter,
    }),
    result: commandResult,
    baseRisk: 'MEDIUM',
    mayRunUnasked: true,
    kind: 'execute',
    changes: 'anything',
    wants: ({ command, args }) => `run ${shown(command, args)}`,
  }),
  defineToolRow({
    name: 'reach_host',
    category: 'command',
    description:
      'Let a running command reach one more host. The runner makes this call when a command connects to a host that its card did not name; the connection waits for the decision.',
    parameters: z.strictObject({
      host: networkHost.describe('The host, with its port if that is not 80 or 443.'),
      tool_id: z.string().min(1).max(64).describe('The call whose command wants to reach it.'),
    }),
    result: z.strictObject({ success: z.literal(true), host: z.string() }),
    baseRisk: 'MEDIUM',
    madeBy: 'runner',
    kind: 'execute',
    changes: 'job',
    wants: ({ host }) => `reach ${shown(host)}`,
  }),
] as const;
